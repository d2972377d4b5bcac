"""The recipe ``reader``: find the span of a passage that answers a question, or no span, on a small trunk.

As in BERT for SQuAD 2 (Devlin et al., NAACL 2019), each token gets two scores, and the first token means "no answer".
The loss rewards any of a question's right answers.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from convqa.metrics.squad import exact_match, f1
from convqa.models import SpanReader, load_reader
from convqa.models.engines.torch.networks import Spanned
from convqa.models.engines.torch.runtime import mask_of, padded
from convqa.models.engines.torch.transformers import load_config, load_module, tokenizer_of
from convqa.models.folder import ModelFolder
from convqa.models.kinds.reader_input import PassageTokens, ReaderInput, Window
from convqa.models.sentence_files import positions
from convqa.models.types import READER_TOKENS
from convqa.tasks.mrqa.formats import Context, Question
from convqa.tasks.mrqa.input import read_contexts
from convqa.training.config import ReaderSettings
from convqa.training.examples import REPORT, TRAIN, VALIDATION, files, required_files
from convqa.training.loop import Bench, fit
from convqa.training.recipe import Recipe, Scores, trainable

_MAX_SPANS = 12
"""Maximum right answers of a window."""

TokenSpan = tuple[int, int]
"""The first and the last token of an answer."""


class LabeledWindow(NamedTuple):
    """The tokens of a window and their types. ``spans``: first and last token of every right answer, (0, 0) if there is
    none.
    """

    ids: Sequence[int]
    types: Sequence[int]
    spans: Sequence[TokenSpan]


class ReaderTraining(Recipe):
    """Token windows with their answers, and the network. ``checks``: the sets to validate and report on."""

    settings: ReaderSettings
    use = """Finds the span of a passage that answers a question, if there is one
(`convqa.components.readers.extractive`). English."""

    def __init__(self, settings: ReaderSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        training = required_files(bench.data, TRAIN)
        self.checks = _contexts(required_files(bench.data, VALIDATION))
        self.checks |= _contexts(files(bench.data, REPORT))
        self.base = trainable(settings.base)
        config = load_config(self.base)
        self.most = min(READER_TOKENS, positions(config) or READER_TOKENS)
        self.tokenizer = tokenizer_of(self.base, self.most)
        reading = ReaderInput(self.tokenizer.inner, self.most)
        self.windows: list[LabeledWindow] = []
        for path in training.values():
            questions = _asked(read_contexts(path))
            self.windows += labeled_windows(reading, questions, settings.seed)
        settings.steps(len(self.windows))  # fails early, before the long work
        self.net = _net(self.base, config, settings.seed).to(bench.device)

    def fit(self) -> None:
        """Minimize the cross-entropy of the answers' first and last tokens."""
        lengths = [len(window.ids) for window in self.windows]
        fit(
            self.net,
            lengths,
            self._batch_loss,
            self.settings,
            self.bench,
            lambda name: "qa_outputs" in name,
        )

    def _batch_loss(self, indices: Sequence[int]) -> Tensor:
        windows = [self.windows[index] for index in indices]
        ids = [window.ids for window in windows]
        starts, ends = self.outputs(ids, [window.types for window in windows])
        mask = mask_of(ids, self.bench.device)
        return _loss(starts, ends, mask, [window.spans for window in windows])

    def validate(self, folder: Path) -> Scores:
        """Score exact match and F1."""
        reader = load_reader(str(folder))
        return {label: score(reader, contexts) for label, contexts in self.checks.items()}


def _contexts(paths: Mapping[str, Path]) -> dict[str, list[Context]]:
    return {label: list(read_contexts(path)) for label, path in paths.items()}


def _asked(contexts: Iterable[Context]) -> Iterator[tuple[Question, str]]:
    """Yield every question with its context."""
    for context in contexts:
        for question in context.questions:
            yield question, context.text


def score(reader: SpanReader, contexts: Sequence[Context]) -> dict[str, float]:
    """Return exact match and F1 (SQuAD 2) in per cent. The reader abstains if no answer is likelier than any span."""
    asked = list(_asked(contexts))
    pairs = [(question.text, text) for question, text in asked]
    readings = reader.read(pairs, 1)
    exact = []
    overlaps = []
    for (question, text), reading in zip(asked, readings, strict=True):
        span = ""
        if reading.margin > 0:
            best = reading.spans[0]
            span = text[best.start : best.end]
        answers = question.answers or ("",)
        exact.append(max(exact_match(answer, span) for answer in answers))
        overlaps.append(max(f1(answer, span) for answer in answers))
    return {
        "questions": len(asked),
        "EM": 100 * sum(exact) / len(asked),
        "F1": 100 * sum(overlaps) / len(asked),
    }


def _net(base: ModelFolder, config: Any, seed: int) -> Spanned:
    """Return the base's trunk with a new head."""
    import transformers

    trunk = load_module(base, "AutoModel", "cpu", "float32")
    torch.manual_seed(seed)
    if hasattr(config, "attention_probs_dropout_prob"):
        # Its random numbers would take half of a step's time on a CPU.
        config.attention_probs_dropout_prob = 0.0
    auto: Any = transformers.AutoModelForQuestionAnswering
    model: Any = auto.from_config(config)
    model.base_model.load_state_dict(trunk.state_dict(), strict=False)
    return Spanned(model)


def labeled_windows(
    reading: ReaderInput, questions: Iterable[tuple[Question, str]], seed: int
) -> Iterator[LabeledWindow]:
    """Yield a window with the answer for each question, and one without for every other and the unanswerable ones."""
    chance = Random(seed)
    text = ""
    passage = PassageTokens([], [], [])
    for question, context in questions:
        if context != text or not passage.ids:
            text = context
            passage = reading.passage(context)
        with_answer: list[LabeledWindow] = []
        without: list[LabeledWindow] = []
        for window in reading.windows(reading.question(question.text), passage):
            spans = _answer_spans(question.spans, passage, window)
            tokens = window.tokens
            labeled = LabeledWindow(
                array("i", tokens.ids),
                array("b", tokens.types),
                spans or [(0, 0)],
            )
            group = with_answer if spans else without
            group.append(labeled)
        if with_answer:
            yield chance.choice(with_answer)
        # An answer that no window contains whole is skipped.
        if without and (not question.answers or (with_answer and chance.random() < 0.5)):
            yield chance.choice(without)


def _answer_spans(
    spans: Sequence[tuple[int, int]],
    passage: PassageTokens,
    window: Window,
) -> list[TokenSpan]:
    """Return the first and last token of every answer that the window contains whole."""
    starts = [start for start, _ in passage.offsets]
    ends = [end for _, end in passage.offsets]
    shift = window.at - window.first
    token_spans: list[TokenSpan] = []
    for start, end in spans:
        first = bisect_right(ends, start)
        last = bisect_left(starts, end) - 1
        token_span = (first + shift, last + shift)
        if window.first <= first <= last < window.last and token_span not in token_spans:
            token_spans.append(token_span)
    return token_spans[:_MAX_SPANS]


def _loss(
    starts: Tensor,
    ends: Tensor,
    mask: Tensor,
    spans: Sequence[Sequence[TokenSpan]],
) -> Tensor:
    """Return -log of the total probability of all right answers, averaged over the batch."""
    nothing = torch.finfo(starts.dtype).min
    device = str(starts.device)
    is_padding = mask_of(spans, device) == 0
    total = torch.zeros(is_padding.shape, device=device)
    for side, logits in enumerate((starts, ends)):
        tokens = padded([[span[side] for span in row] for row in spans], 0, device)
        real = logits.masked_fill(mask == 0, nothing)
        total = total + functional.log_softmax(real, -1).gather(1, tokens)
    answers = total.masked_fill(is_padding, nothing)
    return -torch.logsumexp(answers, 1).mean()
