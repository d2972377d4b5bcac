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
from convqa.models.engines.torch.transformers import load_config, load_module, positions, tokenizer_of
from convqa.models.folder import CARD, TOKENIZER, ModelFolder
from convqa.models.kinds.reader import Calibration, probability
from convqa.models.kinds.reader_input import PassageTokens, ReaderInput, Window
from convqa.tasks.mrqa.formats import Context, Question
from convqa.training.config import ReaderSettings
from convqa.training.heads import logistic
from convqa.training.loop import NetworkRecipe, fit, mask_of, padded
from convqa.training.questions import asked_elsewhere, gather
from convqa.training.train import Bench, Scores, trainable

_MOST_SPANS = 12

Measure = Callable[[str, str], float]


class Row(NamedTuple):
    """``ids``: tokens of a window. ``typed``: index of the first token of type 1. ``spans``: first and last token of
    every right answer, (0, 0) if there is none.
    """

    ids: Sequence[int]
    typed: int
    spans: Sequence[tuple[int, int]]


class Training(NetworkRecipe):
    """Token windows with their answers, and the network. ``validation``, ``reported``: label -> contexts."""

    settings: ReaderSettings
    use = """Finds the span of a passage that answers a question, if there is one
(`convqa.components.readers.extractive`). English."""

    def __init__(self, settings: ReaderSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        training, self.validation, self.reported = gather(settings, bench.data)
        self.base = trainable(settings.base)
        config = load_config(self.base)
        self.most = min(settings.longest, positions(config) or settings.longest)
        self.tokenizer = tokenizer_of(self.base, config, self.most)
        reading = ReaderInput(self.tokenizer.inner, self.most)
        self.rows: list[Row] = []
        for contexts in training:
            asked = asked_elsewhere(contexts, settings.foreign / 100, settings.seed)
            self.rows += _rows(reading, asked, settings.seed)
        settings.steps(len(self.rows))
        self.net = _net(self.base, config, settings.seed).to(bench.device)

    def fit(self) -> None:
        """Minimize the cross-entropy of the answers' first and last tokens."""
        device = self.bench.device

        def loss(indices: Sequence[int]) -> Tensor:
            rows = [self.rows[index] for index in indices]
            ids, mask = padded([row.ids for row in rows], 0, device), mask_of([row.ids for row in rows], device)
            types = padded([[0] * row.typed + [1] * (len(row.ids) - row.typed) for row in rows], 0, device)
            with torch.autocast(device, torch.bfloat16, enabled=self.bench.precision == "bfloat16"):
                starts, ends = self.net(ids, mask, types)
            return _loss(starts.float(), ends.float(), mask, [row.spans for row in rows])

        lengths = [len(row.ids) for row in self.rows]
        fit(self.net, lengths, loss, self.settings, self.bench, lambda name: "qa_outputs" in name)

    def validate(self) -> Scores:
        """Score the int8 model on ONNX Runtime, as it is used, and its float32 graph.

        ``calibration``: slopes and offsets that turn margins into probabilities, fitted on the validation sets.
        """
        with tempfile.TemporaryDirectory(dir=self.bench.folder) as folder:
            quantized, whole = Path(folder) / "model", Path(folder) / "whole"
            self.write(quantized, {})
            self.write(whole, {}, precision="float32")
            calibration = calibrated(load_reader(str(quantized)), self.validation, self.settings.seed)
            scores: Scores = {}
            for name, reader in (("", load_reader(str(quantized))), (" float32", load_reader(str(whole)))):
                for label, contexts in {**self.validation, **self.reported}.items():
                    scores[f"{label}{name}"] = score(reader, contexts, calibration)
        lines = {"answer": calibration.answer, "null": calibration.null}
        scores["calibration"] = {
            f"{name} {part}": value
            for name, line in lines.items()
            for part, value in zip(("slope", "offset"), line, strict=True)
        }
        return scores

    def export(self, scores: Scores, target: Path) -> None:
        """Write the folder that ``load_reader`` reads, int8 for ONNX Runtime, with a model card.

        Also writes the same weights in float32 for transformers, to a folder of the same name plus ``-torch``.
        """
        fitted = scores["calibration"]
        answer, null = ((fitted[f"{name} slope"], fitted[f"{name} offset"]) for name in ("answer", "null"))
        calibration, text = Calibration(answer=answer, null=null), self.card(scores)
        self.write(target, {"calibration": calibration.model_dump(mode="json")}, text)
        whole = target.with_name(f"{target.name}-torch")
        self.net.answering.save_pretrained(whole)
        self.tokenizer.inner.save(str(whole / TOKENIZER))
        with whole_file(whole / CARD) as file:
            file.write(text.encode())


def calibrated(reader: SpanReader, sets: Mapping[str, Sequence[Context]], seed: int) -> Calibration:
    """Fit the calibration on questions that are each also asked of an unanswering context.

    ``answer``: the expected F1 of a passage's best span; ``null``: the probability that the passage does not answer.

    A reader that prefers wrong spans, such as an untrained one, gets the default calibration.
    """
    asked = [pair for contexts in sets.values() for pair in asked_elsewhere(iter(contexts), 1.0, seed)]
    readings = reader.read([(question.text, text) for question, text in asked], 1)
    pairs = [(pair, reading) for pair, reading in zip(asked, readings, strict=True) if reading.spans]
    margins = [reading.margin for _, reading in pairs]
    right = [_best(f1, question, _best_span(reading, text)) if question.answers else 0.0
             for (question, text), reading in pairs]  # fmt: skip
    answer = curve(margins, right)
    null = curve(margins, [float(not question.answers) for (question, _), _ in pairs])
    if answer[0] <= 0 or null[0] >= 0:
        log.warning(
            "the reader prefers wrong spans on the %d validation questions, so its scores are not probabilities. Train "
            "longer (epochs), on more questions, or with another rate.", len(pairs),
        )  # fmt: skip
        return Calibration()
    return Calibration(answer=answer, null=null)


def score(reader: SpanReader, contexts: Sequence[Context], calibration: Calibration) -> dict[str, float]:
    """Return exact match and F1 (SQuAD 2) in per cent, overall and for questions with and without an answer.

    The reader abstains if the probability of no answer exceeds the expected F1 of the best span.
    """
    asked = [(question, context.text) for context in contexts for question in context.questions]
    readings = reader.read([(question.text, text) for question, text in asked], 1)
    forced = [_best_span(reading, text) for reading, (_, text) in zip(readings, asked, strict=True)]

    def answers(margin: float) -> bool:
        return probability(margin, calibration.answer) >= probability(margin, calibration.null)

    chosen = [span if reading.spans and answers(reading.margin) else ""
              for reading, span in zip(readings, forced, strict=True)]  # fmt: skip
    questions = [question for question, _ in asked]
    answered = [index for index, question in enumerate(questions) if question.answers]
    empty = [index for index, question in enumerate(questions) if not question.answers]

    def mean(measure: Measure, texts: Sequence[str], indices: Sequence[int]) -> float:
        return 100 * sum(_best(measure, questions[index], texts[index]) for index in indices) / len(indices)

    every = range(len(questions))
    scores = {"questions": len(questions), "EM": mean(exact_match, chosen, every), "F1": mean(f1, chosen, every)}
    if answered and empty:
        scores |= {"answerable F1": mean(f1, chosen, answered), "unanswerable F1": mean(f1, chosen, empty)}
    return scores


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
    (slope,), offset = logistic(rows, np.clip(targets, least, 1 - least), np.ones(len(rows)), 0.0)
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


def _rows(reading: ReaderInput, asked: Iterator[tuple[Question, str]], seed: int) -> Iterator[Row]:
    """Yield a window with the answer for each question, and one without for every other and the unanswerable ones."""
    chance = Random(seed)
    text, passage = "", PassageTokens([], [], [])
    for question, context in asked:
        if context != text or not passage.ids:
            text, passage = context, reading.passage(context)
        windows = list(reading.windows(reading.question(question.text), passage))
        targets = [_targets(question.spans, passage, window) for window in windows]
        with_answer = [index for index, spans in enumerate(targets) if spans]
        without = [index for index, spans in enumerate(targets) if not spans]
        chosen = [chance.choice(with_answer)] if with_answer else []
        # An answer that no window contains whole is skipped.
        if without and (not question.answers or (with_answer and chance.random() < 0.5)):
            chosen.append(chance.choice(without))
        for index in chosen:
            tokens = windows[index].tokens
            typed = tokens.types.index(1) if 1 in tokens.types else len(tokens)
            yield Row(array("i", tokens.ids), typed, targets[index] or [(0, 0)])


def _targets(spans: Sequence[tuple[int, int]], passage: PassageTokens, window: Window) -> list[tuple[int, int]]:
    """Return the first and last token of every answer that the window contains whole."""
    starts, ends = [start for start, _ in passage.offsets], [end for _, end in passage.offsets]
    shift = window.at - window.first
    targets = []
    for start, end in spans:
        first, last = bisect_right(ends, start), bisect_left(starts, end) - 1
        if window.first <= first <= last < window.last:
            targets.append((first + shift, last + shift))
    return list(dict.fromkeys(targets))[:_MOST_SPANS]


def _loss(starts: Tensor, ends: Tensor, mask: Tensor, spans: Sequence[Sequence[tuple[int, int]]]) -> Tensor:
    """Return -log of the total probability of all right answers, averaged over the batch."""
    nothing = torch.finfo(starts.dtype).min
    starts = functional.log_softmax(starts.masked_fill(mask == 0, nothing), -1)
    ends = functional.log_softmax(ends.masked_fill(mask == 0, nothing), -1)
    first = padded([[start for start, _ in row] for row in spans], 0, str(starts.device))
    last = padded([[end for _, end in row] for row in spans], 0, str(starts.device))
    real = mask_of(spans, str(starts.device))
    both = starts.gather(1, first) + ends.gather(1, last)
    return -torch.logsumexp(both.masked_fill(real == 0, nothing), 1).mean()
