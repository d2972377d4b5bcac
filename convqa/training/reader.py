"""The recipe ``reader``: find the span of a passage that answers a question, or no span, on a small trunk.

As in BERT for SQuAD 2 (Devlin et al., NAACL 2019), each token gets two scores, and the first token means "no answer".
The loss rewards any of a question's right answers.
"""

from __future__ import annotations

import tempfile
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from convqa.files import log, whole_file
from convqa.metrics.squad import exact_match, f1
from convqa.models import PairReading, SpanReader, load_reader
from convqa.models.engines.torch.networks import Spanned
from convqa.models.engines.torch.runtime import mask_of, padded
from convqa.models.engines.torch.transformers import load_config, load_module, positions, tokenizer_of
from convqa.models.folder import CARD, TOKENIZER, ModelFolder
from convqa.models.kinds.reader import Calibration, probability
from convqa.models.kinds.reader_input import PassageTokens, ReaderInput, Window
from convqa.models.types import READER_TOKENS
from convqa.tasks.mrqa.formats import Context, Question
from convqa.training.config import ReaderSettings
from convqa.training.heads import logistic
from convqa.training.loop import NetworkRecipe, fit
from convqa.training.questions import asked_elsewhere, gather
from convqa.training.train import Bench, Scores, trainable

_MAX_SPANS = 12
"""Maximum right answers of a window."""

Measure = Callable[[str, str], float]

TokenSpan = tuple[int, int]
"""The first and the last token of an answer."""


class LabeledWindow(NamedTuple):
    """The tokens of a window and their types. ``spans``: first and last token of every right answer, (0, 0) if there is
    none.
    """

    ids: Sequence[int]
    types: Sequence[int]
    spans: Sequence[TokenSpan]


class ReaderTraining(NetworkRecipe):
    """Token windows with their answers, and the network. ``validation``, ``reported``: label -> contexts."""

    settings: ReaderSettings
    use = """Finds the span of a passage that answers a question, if there is one
(`convqa.components.readers.extractive`). English."""

    def __init__(self, settings: ReaderSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        training, self.validation, self.reported = gather(settings, bench.data)
        self.base = trainable(settings.base)
        config = load_config(self.base)
        self.most = min(READER_TOKENS, positions(config) or READER_TOKENS)
        self.tokenizer = tokenizer_of(self.base, config, self.most)
        reading = ReaderInput(self.tokenizer.inner, self.most)
        self.windows: list[LabeledWindow] = []
        for contexts in training:
            questions = asked_elsewhere(
                contexts,
                settings.foreign / 100,
                settings.seed,
            )
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

    def validate(self) -> Scores:
        """Score the int8 model on ONNX Runtime, as it is used, and its float32 graph.

        ``self.calibration``: slopes and offsets that turn margins into probabilities, fitted on the validation sets.
        """
        with tempfile.TemporaryDirectory(dir=self.bench.folder) as folder:
            self.write(Path(folder) / "int8", {})
            self.write(
                Path(folder) / "float32",
                {},
                precision="float32",
            )
            int8_reader = load_reader(f"{folder}/int8")
            float32_reader = load_reader(f"{folder}/float32")
            self.calibration = calibrated(
                int8_reader,
                self.validation,
                self.settings.seed,
            )
            scores: Scores = {}
            for suffix, reader in (("", int8_reader), (" float32", float32_reader)):
                for label, contexts in {**self.validation, **self.reported}.items():
                    scores[f"{label}{suffix}"] = score(
                        reader,
                        contexts,
                        self.calibration,
                    )
        for name, (slope, offset) in self.calibration.model_dump().items():
            scores[f"calibration of {name}"] = {"slope": slope, "offset": offset}
        return scores

    def export(self, scores: Scores, target: Path) -> None:
        """Write the folder that ``load_reader`` reads, int8 for ONNX Runtime, with a model card.

        Also writes the same weights in float32 for transformers, to a folder of the same name plus ``-torch``.
        """
        card = self.card(scores)
        self.write(
            target,
            {"calibration": self.calibration.model_dump(mode="json")},
            card,
        )
        float32_folder = target.with_name(f"{target.name}-torch")
        self.net.answering.save_pretrained(float32_folder)
        self.tokenizer.inner.save(str(float32_folder / TOKENIZER))
        with whole_file(float32_folder / CARD) as file:
            file.write(card.encode())


def calibrated(
    reader: SpanReader,
    sets: Mapping[str, Sequence[Context]],
    seed: int,
) -> Calibration:
    """Fit the calibration on questions that are each also asked of an unanswering context.

    ``answer``: the expected F1 of a passage's best span; ``null``: the probability that the passage does not answer.

    A reader that prefers wrong spans, such as an untrained one, gets the default calibration.
    """
    asked = [pair for contexts in sets.values() for pair in asked_elsewhere(iter(contexts), 1.0, seed)]
    margins = []
    scores = []
    unanswered = []
    for (question, text), reading in zip(asked, _read(reader, asked), strict=True):
        if reading.spans:
            margins.append(reading.margin)
            scores.append(_best(f1, question, _best_span(reading, text)) if question.answers else 0.0)
            unanswered.append(float(not question.answers))
    answer = curve(margins, scores)
    null = curve(margins, unanswered)
    if answer[0] <= 0 or null[0] >= 0:
        log.warning(
            "the reader prefers wrong spans on the %d validation questions, so its scores are not probabilities. Train "
            "longer (epochs), on more questions, or with another rate.",
            len(margins),
        )
        return Calibration()
    return Calibration(answer=answer, null=null)


def score(
    reader: SpanReader,
    contexts: Sequence[Context],
    calibration: Calibration,
) -> dict[str, float]:
    """Return exact match and F1 (SQuAD 2) in per cent, overall and for questions with and without an answer.

    The reader abstains if the probability of no answer exceeds the expected F1 of the best span.
    """
    asked = [(question, context.text) for context in contexts for question in context.questions]
    exact = []
    overlaps = []
    answerable: list[float] = []
    unanswerable: list[float] = []
    for (question, text), reading in zip(asked, _read(reader, asked), strict=True):
        expected = probability(reading.margin, calibration.answer)
        abstains = expected < probability(reading.margin, calibration.null)
        span = "" if abstains else _best_span(reading, text)
        exact.append(_best(exact_match, question, span))
        overlaps.append(_best(f1, question, span))
        group = answerable if question.answers else unanswerable
        group.append(overlaps[-1])
    scores = {
        "questions": len(asked),
        "EM": _per_cent(exact),
        "F1": _per_cent(overlaps),
    }
    if answerable and unanswerable:
        scores["answerable F1"] = _per_cent(answerable)
        scores["unanswerable F1"] = _per_cent(unanswerable)
    return scores


def _per_cent(values: Sequence[float]) -> float:
    return 100 * sum(values) / len(values)


def _read(reader: SpanReader, asked: Sequence[tuple[Question, str]]) -> list[PairReading]:
    return reader.read([(question.text, text) for question, text in asked], 1)


def _best_span(reading: PairReading, text: str) -> str:
    return text[reading.spans[0].start : reading.spans[0].end] if reading.spans else ""


def _best(measure: Measure, question: Question, text: str) -> float:
    return max(measure(answer, text) for answer in question.answers or ("",))


def curve(scores: Sequence[float], targets: Sequence[float]) -> tuple[float, float]:
    """Fit sigmoid(slope x score + offset) and return slope and offset.

    :param targets: 0 to 1 per score. As Platt suggests, they are moved slightly away from 0 and 1, so that the curve
        stays finite if the scores separate them completely.

    >>> slope, offset = curve([-2.0, -1.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0])
    >>> slope > 0, abs(offset) < 0.01
    (True, True)
    """
    least = 1 / (len(scores) + 2)
    rows = np.array(scores, dtype=np.float64)[:, None]
    (slope,), offset = logistic(
        rows,
        np.clip(targets, least, 1 - least),
        np.ones(len(rows)),
        0.0,
    )
    return float(slope), offset


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
    reading: ReaderInput, questions: Iterator[tuple[Question, str]], seed: int
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
    first = padded([[start for start, _ in row] for row in spans], 0, device)
    last = padded([[end for _, end in row] for row in spans], 0, device)
    start_log = functional.log_softmax(starts.masked_fill(mask == 0, nothing), -1).gather(1, first)
    end_log = functional.log_softmax(ends.masked_fill(mask == 0, nothing), -1).gather(1, last)
    is_padding = mask_of(spans, device) == 0
    return -torch.logsumexp((start_log + end_log).masked_fill(is_padding, nothing), 1).mean()
