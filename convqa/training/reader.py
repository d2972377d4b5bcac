"""The recipe ``reader``: score the units of passages as answers to a turn, find spans, and rank the passages.

All units of the passages of a turn, and the null score, compete for the answer (docs/reference/training.md). As in BERT
for SQuAD 2 (Devlin et al., NAACL 2019), each token is also scored as the start and the end of a span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from convqa.metrics.answerability import auc
from convqa.models.engines.torch.networks import UnitNet
from convqa.models.engines.torch.runtime import mask_of
from convqa.models.engines.torch.transformers import load_config, load_module, tokenizer_of
from convqa.models.folder import ModelFolder
from convqa.models.kinds.unit_reader import AskedQuestion, UnitInput, UnitPassage, UnitReader, load_unit_reader
from convqa.models.sentence_files import positions
from convqa.models.types import READER_TOKENS
from convqa.training.config import ReaderSettings
from convqa.training.examples import (
    REPORT,
    TRAIN,
    VALIDATION,
    ReadingExample,
    ReadPassage,
    files,
    read,
    required_files,
)
from convqa.training.loop import Bench, fit
from convqa.training.recipe import Recipe, Scores, trainable

_NEGATIVES_FACTOR = 1.5
_PASSAGE_FACTOR = 0.5
_PASSAGE_RANK_FACTOR = 0.3
_SPAN_FACTOR = 0.3
"""Weights in the loss, beside the unit's rank and the probability of the units that answer."""

_NOTHING = -1e4
"""Stands for minus infinity in bfloat16."""

Span = tuple[int, int]
"""The first and the last token of an answer; (0, 0) is no answer."""


class LabeledWindow(NamedTuple):
    """A sequence with its labels.

    ``units``: first token and end of each unit. ``answers``: whether each unit answers. ``span``: None if unknown.
    """

    ids: list[int]
    types: list[int]
    units: list[tuple[int, int]]
    answers: list[bool]
    span: Span | None


class ReaderTraining(Recipe):
    """The windows of each example's passages, and the network. ``checks``: the sets to validate and report on."""

    settings: ReaderSettings
    use = """Scores the sentences, list items and table rows of passages as answers to a turn, and finds spans
(`convqa.components.readers.units`, `convqa.components.readers.extractive`). English."""

    def __init__(self, settings: ReaderSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        paths = required_files(bench.data, VALIDATION) | files(bench.data, REPORT)
        self.checks = {label: read(path, ReadingExample) for label, path in paths.items()}
        examples: list[ReadingExample] = []
        for path in required_files(bench.data, TRAIN).values():
            examples += read(path, ReadingExample)
        settings.steps(len(examples))  # fails early, before the long work
        self.base = trainable(settings.base)
        self.most = min(READER_TOKENS, positions(load_config(self.base)) or READER_TOKENS)
        self.tokenizer = tokenizer_of(self.base, self.most)
        self.tokenizer.inner.no_truncation()
        layout = UnitInput(self.tokenizer.inner, self.most)
        self.groups = [list(labeled_windows(layout, self.tokenizer.inner, example)) for example in examples]
        trunk = load_module(self.base, "AutoModel", "cpu", "float32")
        trunk.embeddings.word_embeddings.weight.requires_grad = False
        # Its random numbers would take half of a step's time on a CPU.
        trunk.config.attention_probs_dropout_prob = 0.0
        self.net = UnitNet(trunk, settings.seed)
        self.net.load_state_dict(_trained_heads(self.base), strict=False)
        self.net.to(bench.device)

    def fit(self) -> None:
        """Minimize the cross-entropy of the units that answer, of their passages, and of spans."""
        lengths = [sum(len(window.ids) for window in group) for group in self.groups]
        fit(
            self.net,
            lengths,
            self._batch_loss,
            self.settings,
            self.bench,
            lambda name: not name.startswith("trunk."),
        )

    def _batch_loss(self, indices: Sequence[int]) -> Tensor:
        groups = [self.groups[index] for index in indices]
        windows = list(chain.from_iterable(groups))
        ids = [window.ids for window in windows]
        starts, ends, marks, tokens, passages = self.outputs(ids, [window.types for window in windows])
        scores = _unit_scores(windows, marks, tokens)
        labels = torch.tensor([answers for window in windows for answers in window.answers], device=scores.device)
        counts = [sum(len(window.units) for window in group) for group in groups]
        unit_loss = _rank_loss(scores, labels, counts) + _share_loss(scores, labels, counts)
        is_answering = torch.tensor([any(window.answers) for window in windows], device=scores.device)
        passage_loss = functional.binary_cross_entropy_with_logits(passages, is_answering.float())
        passage_rank_loss = _rank_loss(passages, is_answering, [len(group) for group in groups])
        return (
            unit_loss
            + _PASSAGE_FACTOR * passage_loss
            + _PASSAGE_RANK_FACTOR * passage_rank_loss
            + _SPAN_FACTOR * _span_loss(starts, ends, mask_of(ids, self.bench.device), windows)
        )

    def validate(self, folder: Path) -> Scores:
        """Score the share of turns whose best unit answers, and how well its score tells whether any does (AUC)."""
        reader = load_unit_reader(str(folder))
        return {label: score(reader, examples) for label, examples in self.checks.items()}


def _trained_heads(base: ModelFolder) -> dict[str, Tensor]:
    """Return the tensors of a base that are not its trunk's: none, or the heads with which training goes on."""
    from safetensors.torch import load_file

    file = base.path / "model.safetensors"
    tensors = load_file(file) if file.is_file() else {}
    heads = ("tokens.", "dense.", "passage.")
    return {name: tensor.float() for name, tensor in tensors.items() if name.startswith(heads)}


def labeled_windows(layout: UnitInput, tokenizer: Any, example: ReadingExample) -> Iterator[LabeledWindow]:
    """Yield the windows of an example's passages with their labels."""
    question = layout.question(asked(example))
    for passage in example.passages:
        for window in layout.windows(question, unit_passage(passage)):
            answers = [unit in passage.answers for unit, _, _ in window.units]
            span: Span | None = None
            if example.has_spans:
                span = (0, 0)
                for (unit, first, _), is_answer in zip(window.units, answers, strict=True):
                    if is_answer:
                        span = _token_span(tokenizer, passage.units[unit], example.answer, first)
            bounds = [(first, end) for _, first, end in window.units]
            if bounds:
                yield LabeledWindow(window.tokens.ids, window.tokens.types, bounds, answers, span)


def asked(example: ReadingExample) -> AskedQuestion:
    """Return the question of an example with its history."""
    history = tuple((past.question, past.answer) for past in example.history)
    return AskedQuestion(example.question, example.rewrite, history)


def unit_passage(passage: ReadPassage) -> UnitPassage:
    """Return a passage as the reader reads it."""
    return UnitPassage(passage.title, tuple(passage.units))


def _token_span(tokenizer: Any, unit: str, answer: str, first: int) -> Span | None:
    """Return the tokens of an answer in a unit that begins at the token ``first``; None if it does not hold it."""
    start = unit.find(answer) if answer else -1
    if start < 0:
        return None
    offsets = tokenizer.encode(unit, add_special_tokens=False).offsets
    inside = [index for index, (begin, end) in enumerate(offsets) if begin < start + len(answer) and end > start]
    return (first + inside[0], first + inside[-1]) if inside else None


def _unit_scores(windows: Sequence[LabeledWindow], marks: Tensor, tokens: Tensor) -> Tensor:
    """Return the scores of all units, in order: of the mark, plus the mean of the unit's tokens."""
    scores = []
    for row, window in enumerate(windows):
        for first, end in window.units:
            scores.append(marks[row, first - 1] + tokens[row, first:end].mean())
    return torch.stack(scores)


def _grouped(values: Tensor, counts: Sequence[int], padding: float) -> Tensor:
    """Return values, those of each group in one row."""
    return pad_sequence(list(values.split(list(counts))), batch_first=True, padding_value=padding)


def _rank_loss(scores: Tensor, labels: Tensor, counts: Sequence[int]) -> Tensor:
    """Return -log of the probability of what answers among all of a group and the null score, which is 0."""
    rows = _grouped(scores, counts, _NOTHING)
    is_answer = _grouped(labels, counts, False)
    null = torch.zeros_like(rows[:, :1])
    is_null_right = ~is_answer.any(1, keepdim=True)
    rows = torch.cat([null, rows], 1)
    right = rows.masked_fill(~torch.cat([is_null_right, is_answer], 1), _NOTHING)
    return (rows.logsumexp(1) - right.logsumexp(1)).mean()


def _share_loss(scores: Tensor, labels: Tensor, counts: Sequence[int]) -> Tensor:
    """Return the binary cross-entropy of each unit, averaged over those that answer and over the others of a group."""
    each = functional.binary_cross_entropy_with_logits(scores, labels.float(), reduction="none")
    rows = _grouped(each, counts, 0.0)
    is_answer = _grouped(labels, counts, False).float()
    is_other = _grouped(~labels, counts, False).float()
    right = (rows * is_answer).sum(1) / is_answer.sum(1).clamp(min=1)
    wrong = (rows * is_other).sum(1) / is_other.sum(1).clamp(min=1)
    return (right + _NEGATIVES_FACTOR * wrong).mean()


def _span_loss(starts: Tensor, ends: Tensor, mask: Tensor, windows: Sequence[LabeledWindow]) -> Tensor:
    """Return the cross-entropy of the answers' first and last tokens; windows without an answer count half."""
    known = [(row, window.span) for row, window in enumerate(windows) if window.span is not None]
    if not known:
        return starts.sum() * 0
    rows = torch.tensor([row for row, _ in known], device=starts.device)
    spans = torch.tensor([span for _, span in known], device=starts.device)
    losses = torch.zeros(len(known), device=starts.device)
    for side, logits in enumerate((starts, ends)):
        real = logits[rows].masked_fill(mask[rows] == 0, _NOTHING)
        losses = losses + functional.cross_entropy(real, spans[:, side], reduction="none") / 2
    weights = torch.where(spans[:, 1] > 0, 1.0, 0.5)
    return (losses * weights).sum() / weights.sum()


def score(reader: UnitReader, examples: Sequence[ReadingExample]) -> dict[str, float]:
    """Return the share of answerable turns whose best unit answers, and the AUC of the best scores."""
    firsts = []
    bests: dict[bool, list[float]] = {True: [], False: []}
    for example in examples:
        question = asked(example)
        readings = reader.read([(question, unit_passage(passage)) for passage in example.passages])
        best = (float("-inf"), False)
        for passage, reading in zip(example.passages, readings, strict=True):
            for index, unit_score in enumerate(reading.units):
                best = max(best, (unit_score, index in passage.answers))
        is_answerable = any(passage.answers for passage in example.passages)
        bests[is_answerable].append(best[0])
        if is_answerable:
            firsts.append(best[1])
    scores: dict[str, float] = {"turns": len(examples), "first unit": sum(firsts) / max(1, len(firsts))}
    if all(bests.values()):
        scores["AUC"] = auc(bests[True], bests[False])
    return scores
