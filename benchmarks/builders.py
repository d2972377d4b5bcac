"""How good are the answers of each builder, how much time do they take, and which length suits QReCC?

    python benchmarks/builders.py quality [--sets inscit_dev clapnq_dev] [--without-span] [--data ../shared/data]
    python benchmarks/builders.py cost [--turns 100] [--passages 10 100] [--rounds 5]
    python benchmarks/builders.py length
    python benchmarks/builders.py curves

Prints tables. The turns have an answer and an available gold passage, and the history of the set. Settings were chosen
on the even conversations of inscit_dev and mtrag_un; the odd ones and clapnq_dev are held out.

``quality``: F1 is SQuAD's, ROUGE1-R is SCAI-QReCC's; both are the maximum over the references. "gold" reads the first
gold passage, "all gold" all of them (in sets with several per turn), "ranked" the first ten that ``default`` ranks.
Citations are compared with gold passages (precision / recall). Differences are paired with the two best sentences by
words. The oracle is the run of one to three adjacent sentences with the best F1 in the passages.

``cost``: microseconds of processor time per turn, in the best round, of each builder, of the citation check and of the
decision. A turn has a question of inscit_dev and some of its passages, of which the sentence reader has read ten.
"seen": the passages were cut into sentences before; "new": their texts are new.

``length``: F1 by the builder's ``target_words``, with gold answers as long as QReCC's. QReCC's passages are not
available, its gold answers are. Each turn of the even conversations, answered over the ranked passages, is weighted
once for every human answer by how often answers of this length occur in QReCC.

``curves`` fits ``convqa.components.readers._sentence_scoring`` on the even conversations, each turn with its first gold
passage and with the ranked ones. First come the weights that rank the sentences of a turn: over the sixteen best by
words, their softmax is fitted to that of the sentences' F1 (divided by 0.1) with the nearest human answer, with a ridge
of 0.01. Then come offset and scale, which turn the score into the share of a sentence's words that the nearest answer
has: a logistic over all sentences, where a turn's weight is the square root of their number. Both use Newton's method.
Words alone have one weight, so only the second step is fitted.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from _common import arguments, table
from comparing import difference, estimate
from conversation_answers import GOLD, RANKED, Asked, asked_in, columns, scratch_cache
from conversation_sets import TUNED

from convqa.components.builders.sentences import SentencesBuilder as Builder
from convqa.components.builders.span import SpanBuilder
from convqa.components.checks import verified
from convqa.components.deciders.threshold import Threshold
from convqa.components.readers._sentence_scoring import Curve
from convqa.components.readers.extractive import Extractive
from convqa.components.readers.sentences import SentencesReader as Reader
from convqa.components.readers.units import UnitsReader
from convqa.domain import (
    Answer,
    Hit,
    Passage,
    Query,
    Ranking,
    Rankings,
    Reading,
    Readings,
    Rewrite,
    Rewrites,
    Span,
    Turn,
    TurnId,
    Turns,
)
from convqa.metrics.overlap import set_scores
from convqa.metrics.rouge1 import rouge1
from convqa.metrics.squad import f1, normalize
from convqa.models import load_encoder
from convqa.pipeline.load import load
from convqa.text.sentences import sentences

HEAD = ("set (turns)", "passages", "answer", "F1", "ROUGE1-R", "words", "citations P / R", "F1 minus the former")
FORMER = "two by words"
SEED = 1
EDGES = (0, 8, 12, 16, 20, 24, 30, 10_000)
"""Lengths of answers in words, in groups from one to the next."""
WORDS = (8, 12, 15, 18, 20, 22, 25, 30, 40, 50)
RIDGE = 1e-2
POOL = 16
SHARP = 0.1


@dataclass(frozen=True, slots=True)
class Scores:
    f1: float
    recall: float
    words: int
    cited: tuple[float, float]


def by_cosine(some: Sequence[Asked]) -> list[Reading]:
    """Rank sentences by the cosine of their vector with that of the rewritten question."""
    encoder = load_encoder("encoder")
    questions = encoder.encode([one.rewrite.text for one in some], role="query")
    made = []
    known: dict[str, np.ndarray] = {}
    for one, question in zip(some, questions, strict=True):
        spans = []
        for hit in one.ranking.hits:
            assert hit.passage is not None
            text = hit.passage.text
            offsets = sentences(text, one.turn.language)
            fresh = [text[start:end] for start, end in offsets if text[start:end] not in known]
            known.update(zip(fresh, encoder.encode(fresh), strict=True))
            spans += [
                Span(hit.id, start, end, text[start:end], float(known[text[start:end]] @ question))
                for start, end in offsets
            ]
        made.append(Reading(tuple(sorted(spans, key=lambda span: -span.score)[:20]), 0.0))
    return made


def read(reader: Any, some: Sequence[Asked]) -> list[Reading]:
    reader.warm_up()
    start = time.process_time()
    made = list(reader.read_batch(*columns(some)))
    spent = 1000 * (time.process_time() - start) / len(some)
    print(
        f"{type(reader).__name__}, {getattr(reader, 'encoder', '')}: {spent:.1f} ms of a core per turn",
        file=sys.stderr,
    )
    return made


def scored(some: Sequence[Asked], readings: Sequence[Reading | None], builder: Any) -> list[Scores]:
    rows = []
    for one, answer in zip(some, builder.build_batch(*columns(some), readings), strict=True):
        cited = set_scores(answer.cited_ids(), one.gold)
        rows.append(
            Scores(
                max(f1(truth, answer.text) for truth in one.answers),
                max(rouge1(truth, answer.text).recall for truth in one.answers),
                len(answer.text.split()),
                (cited.precision, cited.recall),
            )
        )
    return rows


def oracle(some: Sequence[Asked]) -> list[Scores]:
    rows = []
    for one in some:
        runs = [
            (" ".join(hit.passage.text[offsets[first][0] : offsets[last][1]].split()), hit.id)
            for hit in one.ranking.hits
            if hit.passage is not None
            for offsets in [sentences(hit.passage.text, one.turn.language)]
            for first in range(len(offsets))
            for last in range(first, min(first + 3, len(offsets)))
        ]
        best, text, id = max((max(f1(truth, text) for truth in one.answers), text, id) for text, id in runs)
        cited = set_scores({id}, one.gold)
        recall = max(rouge1(truth, text).recall for truth in one.answers)
        rows.append(Scores(best, recall, len(text.split()), (cited.precision, cited.recall)))
    return rows


LENGTHS = {"inscit_dev": 38, "mtrag_un": 65, "clapnq_dev": 58, "qrecc_trec_sample": 18}
"""Words of the human answers of the conversations of even number; for clapnq_dev, of mtrag_un's about its corpus; for
qrecc_trec_sample, of QReCC's."""


def ways(name: str, some: Sequence[Asked], without_span: bool) -> Iterator[tuple[str, list[Scores]]]:
    parameters = {name: load("default").document.components[name].init_parameters for name in ("reader", "builder")}
    builder = Builder(**parameters["builder"])
    nothing: list[Reading | None] = [None] * len(some)
    worded, best = read(Reader(), some), read(UnitsReader(**parameters["reader"]), some)
    yield FORMER, scored(some, worded, Builder(max_sentences=2))
    yield "first sentence", scored(some, nothing, Builder(max_sentences=1))
    yield "first two sentences", scored(some, nothing, Builder(max_sentences=2))
    yield "two by cosine", scored(some, by_cosine(some), Builder(max_sentences=2))
    yield "two units", scored(some, best, Builder(max_sentences=2))
    yield "default by words", scored(some, worded, builder)
    yield "default", scored(some, best, builder)
    long = {**parameters["builder"], "target_words": LENGTHS[name]}
    yield f"default, {LENGTHS[name]} words", scored(some, best, Builder(**long))
    if not without_span:
        yield "span", scored(some, read(Extractive(), some), SpanBuilder())
    yield "oracle, 1 to 3 adjacent", oracle(some)


def rows(name: str, part: str, where: str, some: Sequence[Asked], without_span: bool) -> Iterator[list[str]]:
    former: list[Scores] = []
    for way, made in ways(name, some, without_span):
        former = former or made
        means = [
            f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]"
            for one in (estimate([row.f1 for row in made]), estimate([row.recall for row in made]))
        ]
        beside = "" if way == FORMER else str(difference([row.f1 for row in made], [row.f1 for row in former]))
        cited = " / ".join(f"{mean(row.cited[place] for row in made):.2f}" for place in (0, 1))
        yield [f"{part} ({len(some)})", where, way, *means, f"{mean(row.words for row in made):.0f}", cited, beside]


def quality(options: argparse.Namespace) -> None:
    def every_row() -> Iterator[list[str]]:
        for name in options.sets:
            for where, every in asked_in(options.data / "conversations" / name).items():
                for part in (f"{name}, even", f"{name}, odd") if name in TUNED else (name,):
                    some = [one for one in every if part == name or one.odd == part.endswith("odd")]
                    yield from rows(name, part, where, some, options.without_span)

    with scratch_cache():
        table(HEAD, every_row())


Row = tuple[Turn, Rewrite, Ranking, Reading]


def drawn(folder: Path, turns: int, number: int, mark: str) -> list[Row]:
    """Return turns whose texts all end in ``mark``, so that no cache knows them."""
    chance = random.Random(SEED)
    records = [json.loads(line) for line in (folder / "passages.jsonl").read_text(encoding="utf-8").splitlines()]
    passages = [Passage(one["id"], one["text"] + mark, one["title"]) for one in records]
    found = []
    for place, record in enumerate(json.loads((folder / "questions.json").read_bytes())[:turns]):
        chosen = enumerate(chance.sample(passages, number))
        ranking = Ranking(tuple(Hit(one.id, float(number - rank), one) for rank, one in chosen))
        turn = Turn(TurnId(place, 1), record["Question"])
        rewrite = Rewrite(turn.question, (Query(turn.question),))
        found.append((turn, rewrite, ranking, Reader().read(turn, rewrite, ranking)))
    return found


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def building(builder: Builder | SpanBuilder, rows: Sequence[Row]) -> Callable[[], object]:
    turns, rewrites, rankings, readings = zip(*rows, strict=True)
    batch = Turns(turns), Rewrites(rewrites), Rankings(rankings), Readings(readings)
    return lambda: builder.run(*batch)


def apart(rows: Sequence[Row], answers: Sequence[Answer]) -> dict[str, Callable[[], object]]:
    """Time the work of the base class on an answer."""
    decider, both = Threshold(), list(zip(rows, answers, strict=True))
    return {
        "verified": lambda: [verified(answer, row[2]) for row, answer in both],
        "decision": lambda: [decider.decide(*row, answer) for row, answer in both],
    }


def cost(options: argparse.Namespace) -> None:
    folder = options.data / "conversations" / "inscit_dev"
    found: dict[str, list[str]] = {}
    for number in options.passages:
        some = drawn(folder, options.turns, number, "")
        for builder in (Builder(), SpanBuilder()):
            name = type(builder).__name__.lower()
            marks = (f" {name}{turn}" for turn in range(options.rounds))
            new = min(seconds(building(builder, drawn(folder, options.turns, number, mark))) for mark in marks)
            build = building(builder, some)
            build()
            seen = min(seconds(build) for _ in range(options.rounds))
            found.setdefault(name, []).extend(f"{1e6 * one / options.turns:.0f}" for one in (seen, new))
        for name, work in apart(some, [Builder().build(*row) for row in some]).items():
            work()
            seen = min(seconds(work) for _ in range(options.rounds))
            found.setdefault(name, []).extend([f"{1e6 * seen / options.turns:.0f}", "-"])
    head = [f"{number} passages, {kind}" for number in options.passages for kind in ("seen", "new")]
    table(["microseconds per turn", *head], [[name, *cells] for name, cells in found.items()], "speed/building")


def even(options: argparse.Namespace, *ways: str) -> list[Asked]:
    """Return the turns on which settings are chosen, with these passages."""
    with scratch_cache():
        sets = [asked_in(options.data / "conversations" / name) for name in TUNED]
    return [one for found in sets for where in ways for one in found[where] if not one.odd]


def length(options: argparse.Namespace) -> None:
    records = json.loads((options.data / "qrecc" / "dev-turns.json").read_bytes())
    wanted = np.array([len(record["Truth_answer"].split()) for record in records if record["Truth_answer"]])
    print(f"QReCC dev: {len(wanted)} answers, {wanted.mean():.1f} words, the median {np.median(wanted):.0f}\n")
    some = even(options, RANKED)
    parameters = {name: load("qrecc").document.components[name].init_parameters for name in ("reader", "builder")}
    readings = read(Reader(**parameters["reader"]), some)
    pairs = [(place, answer) for place, one in enumerate(some) for answer in one.answers]
    group = np.digitize([len(answer.split()) for _, answer in pairs], EDGES) - 1
    weights = (np.histogram(wanted, EDGES)[0] / np.bincount(group, minlength=len(EDGES) - 1))[group]

    def row(words: int) -> list[str]:
        builder = Builder(**{**parameters["builder"], "target_words": words})
        said = [builder.build(a.turn, a.rewrite, a.ranking, one).text for a, one in zip(some, readings, strict=True)]
        scores = [f1(answer, said[place]) for place, answer in pairs]
        lengths = [len(said[place].split()) for place, _ in pairs]
        return [str(words), *(f"{np.average(values, weights=weights):.3f}" for values in (scores, lengths))]

    table(("words", "F1", "words of the answer"), map(row, WORDS), "answers/length")


def right(text: str, answers: Sequence[str]) -> float:
    """Return the share of a text's words that the nearest answer has."""
    said = Counter(normalize(text).split())
    shared = max((said & Counter(normalize(answer).split())).total() for answer in answers)
    return shared / said.total() if said else 0.0


def tables(some: Sequence[Asked], reader: Reader) -> list[np.ndarray]:
    """Return a row per sentence for each turn, best by words first: share of right words, F1, evidence."""
    reader.warm_up()
    made = []
    for one, (found, _) in zip(some, reader.evidence(*columns(some), count=None), strict=True):
        rows = []
        for sentence in sorted(found, key=lambda sentence: -sentence.evidence.words):
            known = sentence.evidence if reader.encoder else sentence.evidence[:1]
            nearest = max(f1(answer, sentence.text) for answer in one.answers)
            rows.append([right(sentence.text, one.answers), nearest, *known])
        made.append(np.array(rows))
    return made


def preferred(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Fit the weights that rank the best sentences of each turn first: softmax, compared with that of their F1."""
    every = np.concatenate([table[:, 2:] for table in tables])
    scale = every.std(axis=0)
    weights = np.zeros(len(scale))
    best = [table[:POOL] for table in tables if table[:POOL, 1].max() > 0]
    turns = [(table[:, 2:] / scale, sharpened(table[:, 1])) for table in best]
    for _ in range(20):
        slope, curve = -RIDGE * len(turns) * weights, RIDGE * len(turns) * np.eye(len(weights))
        for evidence, target in turns:
            made = np.exp(evidence @ weights - (evidence @ weights).max())
            made /= made.sum()
            center = made @ evidence
            slope += evidence.T @ (target - made)
            curve += (evidence.T * made) @ evidence - np.outer(center, center)
        weights += np.linalg.solve(curve, slope)
    found: np.ndarray = weights / scale
    return found


def sharpened(nearest: np.ndarray) -> np.ndarray:
    made: np.ndarray = np.exp((nearest - nearest.max()) / SHARP)
    made /= made.sum()
    return made


def calibrated(tables: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Fit offset and scale of the logistic that predicts the share of a sentence's words that is right."""
    shares = np.concatenate([table[:, 0] for table in tables])
    turns = np.concatenate([np.full(len(table), len(table) ** -0.5) for table in tables])
    line = np.stack([np.ones(len(shares)), np.concatenate([table[:, 2:] @ weights for table in tables])], axis=1)
    found = np.zeros(2)
    for _ in range(30):
        made = 1 / (1 + np.exp(-line @ found))
        slope = line.T @ (turns * (shares - made))
        found += np.linalg.solve((line.T * (turns * made * (1 - made))) @ line, slope)
    return np.array([found[0], *found[1] * weights])


def curves(options: argparse.Namespace) -> None:
    some = even(options, GOLD, RANKED)
    for name, encoder in (("by words", None), ("by words and vectors", "encoder")):
        found = tables(some, Reader(encoder="encoder" if encoder else None))
        weights = preferred(found) if encoder else np.ones(1)
        print(name, Curve._fields[: len(weights) + 1], calibrated(found, weights).round(2))


PARTS = {"quality": quality, "cost": cost, "length": length, "curves": curves}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("what", choices=PARTS)
    parser.add_argument("--sets", nargs="+", default=["inscit_dev", "clapnq_dev", "mtrag_un"], choices=LENGTHS)
    parser.add_argument("--without-span", action="store_true", help="leave out the extractive reader")
    parser.add_argument("--turns", type=int, default=100, help="of cost")
    parser.add_argument("--passages", type=int, nargs="+", default=[10, 100], help="of cost")
    parser.add_argument("--rounds", type=int, default=5, help="of cost")
    options = parser.parse_args()
    PARTS[options.what](options)


if __name__ == "__main__":
    main()
