"""The reader: where in a passage the answer to a question starts and ends, or that it has none, on a small trunk.

As BERT's for SQuAD 2 (Devlin et al., NAACL 2019): two numbers for each token, and the first token stands for "no
answer". A question may have several right answers: the loss is that of any of them.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from convqa.files import log, whole_file
from convqa.metrics.squad import exact_match, f1
from convqa.models import PairReading, SpanReader, load_reader
from convqa.models.engines.torch.networks import Spanned
from convqa.models.engines.torch.transformers import load_config, load_module, positions, tokenizer_of
from convqa.models.export import write_model
from convqa.models.folder import CARD, TOKENIZER, ModelFolder, licence_of
from convqa.models.kinds.reader import Calibration, probability
from convqa.models.kinds.reader_input import PassageTokens, ReaderInput, Window
from convqa.tasks.mrqa.contexts import Context, Question
from convqa.training.card import card, name_of
from convqa.training.config import ReaderSettings
from convqa.training.data.reading import asked_elsewhere, split
from convqa.training.data.rows import Row, Rows
from convqa.training.heads import logistic
from convqa.training.loop import fit, mask_of, padded
from convqa.training.train import Bench, Recipe, Scores, summary, trainable

_MOST_SPANS = 12
_ROWS = "rows.bin"

Measure = Callable[[str, str], float]

_USE = """Finds in a passage the span that answers a question, or that none does
(`convqa.components.readers.extractive`). English."""


class Training(Recipe):
    """Windows of tokens with the places of their answers, on disk, and the net; ``order``: the rows of an epoch."""

    settings: ReaderSettings

    def __init__(self, settings: ReaderSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        self.sets = split(settings, bench.data)
        self.base = trainable(settings.base)
        config = load_config(self.base)
        self.most = min(settings.longest, positions(config) or settings.longest)
        self.tokenizer = tokenizer_of(self.base, config, self.most)
        reading = ReaderInput(self.tokenizer.inner, self.most)
        self.rows = Rows(bench.folder / _ROWS)
        made: dict[str, range] = {}
        for name, contexts in self.sets.training.items():
            first = len(self.rows)
            asked = asked_elsewhere(contexts(), settings.foreign / 100, settings.seed)
            for row in _rows(reading, asked, settings.seed):
                self.rows.add(row)
            made[name] = range(first, len(self.rows))
        names = [name for part in settings.mix for _ in range(part.times) for name in part.sets]
        self.order = [place for name in names for place in made[name]]
        settings.steps(len(self.order))
        self.net = _net(self.base, config, settings.seed).to(bench.device)

    def fit(self) -> None:
        """Lower the cross-entropy of the answers' first and last tokens."""
        device = self.bench.device

        def loss(places: Sequence[int]) -> Tensor:
            rows = [self.rows[self.order[place]] for place in places]
            ids, mask = padded([row.ids for row in rows], 0, device), mask_of([row.ids for row in rows], device)
            types = padded([[0] * row.typed + [1] * (len(row.ids) - row.typed) for row in rows], 0, device)
            with torch.autocast(device, torch.bfloat16, enabled=self.bench.precision == "bfloat16"):
                starts, ends = self.net(ids, mask, types)
            return _loss(starts.float(), ends.float(), mask, [row.spans for row in rows])

        lengths = [self.rows.lengths[place] for place in self.order]
        fit(self.net, lengths, loss, self.settings, self.bench, lambda name: "qa_outputs" in name)

    def validate(self) -> Scores:
        """How good the reader is as it is used, int8 on ONNX Runtime, beside its float32 graph.

        ``calibration``: how its margins become probabilities, fitted on the sets that validate alone.
        """
        with tempfile.TemporaryDirectory(dir=self.bench.folder) as aside:
            small, whole = Path(aside) / "model", Path(aside) / "whole"
            self._write(small, Calibration(), "")
            self._write(whole, Calibration(), "", precision="float32")
            sure = calibrated(load_reader(str(small)), self.sets.validation, self.settings.seed)
            scores: Scores = {}
            for name, reader in (("", load_reader(str(small))), (" float32", load_reader(str(whole)))):
                for part, sets in (("validation", self.sets.validation), ("report", self.sets.reported)):
                    for which, contexts in sets.items():
                        scores[f"{which} {part}{name}"] = score(reader, contexts, sure)
        lines = {"answer": sure.answer, "null": sure.null}
        scores["calibration"] = {
            f"{name} {part}": value
            for name, line in lines.items()
            for part, value in zip(("slope", "offset"), line, strict=True)
        }
        return scores

    def export(self, scores: Scores, target: Path) -> None:
        """Write the folder that ``load_reader`` reads, int8 for ONNX Runtime, with a model card; and beside it, with
        ``-torch`` behind its name, the same weights in float32 as transformers has them.
        """
        numbers = scores["calibration"]
        answer, null = ((numbers[f"{name} slope"], numbers[f"{name} offset"]) for name in ("answer", "null"))
        text = card("A reader", self.settings, summary(scores), _USE, licence_of(self.base.path))
        self._write(target, Calibration(answer=answer, null=null), text)
        whole = target.with_name(f"{target.name}-torch")
        self.net.answering.save_pretrained(whole)
        self.tokenizer.inner.save(str(whole / TOKENIZER))
        with whole_file(whole / CARD) as file:
            file.write(text.encode())
        (self.bench.folder / _ROWS).unlink(missing_ok=True)

    def _write(self, folder: Path, sure: Calibration, text: str, precision: str = "int8") -> None:
        about = {
            "kind": "reader", "name": folder.name, "precision": precision, "max_tokens": self.most,
            "base": name_of(self.settings.base), "licence": licence_of(self.base.path),
            "settings": {"calibration": sure.model_dump(mode="json")},
        }  # fmt: skip
        write_model(folder, self.net, self.tokenizer, about, text)


def calibrated(reader: SpanReader, sets: Mapping[str, Sequence[Context]], seed: int) -> Calibration:
    """How the margins of such questions become probabilities; each is also asked of a context that does not answer it.

    ``answer``: the F1 that a passage's best span is to be expected to have; ``null``: the probability that a passage
    whose best span has this margin does not answer.

    A reader that prefers wrong spans to right ones, as one that has learnt nothing may, keeps the plain calibration.
    """
    asked = [one for contexts in sets.values() for one in asked_elsewhere(iter(contexts), 1.0, seed)]
    made = reader.read([(question.text, text) for question, text in asked], 1)
    seen = [(one, found) for one, found in zip(asked, made, strict=True) if found.spans]
    margins = [found.margin for _, found in seen]
    right = [_best(f1, question, _said(found, text)) if question.answers else 0.0 for (question, text), found in seen]
    answer = curve(margins, right)
    null = curve(margins, [float(not question.answers) for (question, _), _ in seen])
    if answer[0] <= 0 or null[0] >= 0:
        log.warning(
            "the reader prefers wrong spans on the %d questions that validate: its scores are no probabilities. Train "
            "longer (epochs), on more questions, or with another rate.", len(seen),
        )  # fmt: skip
        return Calibration()
    return Calibration(answer=answer, null=null)


def score(reader: SpanReader, contexts: Sequence[Context], sure: Calibration) -> dict[str, float]:
    """Exact match and F1 (SQuAD 2) in per cent, and both apart for questions with an answer and without.

    A question is taken to have no answer where that is likelier than the F1 that its best span is to be expected to
    have. ``forced``: with the best span whatever its margin, over questions that have an answer. ``always empty``: what
    no answer at all would get.
    """
    asked = [(question, context.text) for context in contexts for question in context.questions]
    found = reader.read([(question.text, text) for question, text in asked], 1)
    forced = [_said(one, text) for one, (_, text) in zip(found, asked, strict=True)]
    chosen = [
        said if one.spans and probability(one.margin, sure.answer) >= probability(one.margin, sure.null) else ""
        for one, said in zip(found, forced, strict=True)
    ]
    questions = [question for question, _ in asked]
    answered = [place for place, question in enumerate(questions) if question.answers]
    empty = [place for place, question in enumerate(questions) if not question.answers]

    def mean(measure: Measure, said: Sequence[str], places: Sequence[int]) -> float:
        return 100 * sum(_best(measure, questions[place], said[place]) for place in places) / len(places)

    every = range(len(questions))
    made = {"questions": len(questions), "EM": mean(exact_match, chosen, every), "F1": mean(f1, chosen, every)}
    if answered:
        made |= {"forced EM": mean(exact_match, forced, answered), "forced F1": mean(f1, forced, answered)}
    if answered and empty:
        made |= {"answerable F1": mean(f1, chosen, answered), "unanswerable F1": mean(f1, chosen, empty)}
        made |= {"always empty": 100 * len(empty) / len(questions)}
    return made


def _said(found: PairReading, text: str) -> str:
    return text[found.spans[0].start : found.spans[0].end] if found.spans else ""


def _best(measure: Measure, question: Question, said: str) -> float:
    return max(measure(answer, said) for answer in question.answers or ("",))


def curve(scores: Sequence[float], wanted: Sequence[float]) -> tuple[float, float]:
    """Slope and offset of the curve sigmoid(slope x score + offset) that fits best.

    :param wanted: 0 to 1 for each score: whether it was right, or how far. As Platt has it, they are taken a little
        nearer to each other, so that the curve stays finite where the scores part them wholly.

    >>> slope, offset = curve([-2.0, -1.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0])
    >>> slope > 0, abs(offset) < 0.01
    (True, True)
    """
    least = 1 / (len(scores) + 2)
    rows = np.array(scores, dtype=np.float64)[:, None]
    (slope,), offset = logistic(rows, np.clip(wanted, least, 1 - least), np.ones(len(rows)), 0.0)
    return float(slope), offset


def _net(base: ModelFolder, config: Any, seed: int) -> Spanned:
    """The base's trunk under a fresh head."""
    import transformers

    trunk = load_module(base, "AutoModel", "cpu", "float32")
    torch.manual_seed(seed)
    if hasattr(config, "attention_probs_dropout_prob"):
        # Half of the time of a step on a CPU would go into random numbers for it.
        config.attention_probs_dropout_prob = 0.0
    auto: Any = transformers.AutoModelForQuestionAnswering
    model: Any = auto.from_config(config)
    model.base_model.load_state_dict(trunk.state_dict(), strict=False)
    return Spanned(model)


def _rows(reading: ReaderInput, asked: Iterator[tuple[Question, str]], seed: int) -> Iterator[Row]:
    """A window with an answer for each question that has one, and some without; one window for each that has none."""
    chance = Random(seed)
    text, passage = "", PassageTokens([], [], [])
    for question, context in asked:
        if context != text or not passage.ids:
            text, passage = context, reading.passage(context)
        windows = list(reading.windows(reading.question(question.text), passage))
        targets = [_targets(question.spans, passage, window) for window in windows]
        with_answer = [place for place, found in enumerate(targets) if found]
        without = [place for place, found in enumerate(targets) if not found]
        chosen = [chance.choice(with_answer)] if with_answer else []
        # An answer that stands in no window whole teaches nothing; what has none at all, that there is none.
        if without and (not question.answers or (with_answer and chance.random() < 0.5)):
            chosen.append(chance.choice(without))
        for place in chosen:
            tokens = windows[place].tokens
            typed = tokens.types.index(1) if 1 in tokens.types else len(tokens)
            yield Row(tokens.ids, typed, targets[place] or [(0, 0)])


def _targets(spans: Sequence[tuple[int, int]], passage: PassageTokens, window: Window) -> list[tuple[int, int]]:
    """First and last token, in the sequence, of every answer that is whole in the window."""
    starts, ends = [start for start, _ in passage.offsets], [end for _, end in passage.offsets]
    shift = window.at - window.first
    found = []
    for start, end in dict.fromkeys(spans):
        first, last = bisect_right(ends, start), bisect_left(starts, end) - 1
        if window.first <= first <= last < window.last:
            found.append((first + shift, last + shift))
    return list(dict.fromkeys(found))[:_MOST_SPANS]


def _loss(starts: Tensor, ends: Tensor, mask: Tensor, spans: Sequence[Sequence[tuple[int, int]]]) -> Tensor:
    """-log of the probability of all right answers together, the mean over the batch."""
    nothing = torch.finfo(starts.dtype).min
    starts = functional.log_softmax(starts.masked_fill(mask == 0, nothing), -1)
    ends = functional.log_softmax(ends.masked_fill(mask == 0, nothing), -1)
    first = padded([[start for start, _ in some] for some in spans], 0, str(starts.device))
    last = padded([[end for _, end in some] for some in spans], 0, str(starts.device))
    real = mask_of(spans, str(starts.device))
    both = starts.gather(1, first) + ends.gather(1, last)
    return -torch.logsumexp(both.masked_fill(real == 0, nothing), 1).mean()
