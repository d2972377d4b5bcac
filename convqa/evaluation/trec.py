"""The run and the truth as TREC files, for trec_eval, ir-measures and every tool that reads those."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import numpy

from convqa.errors import InputError
from convqa.evaluation.result import Evaluation
from convqa.files import whole_file
from convqa.metrics.ranked import ranked

RUN = "run.trec"
QRELS = "truth.qrels"
NOTHING = "(nothing)"
"""The passage id of a turn that ranks nothing."""
_BLANK = re.compile(r"\s")
_LARGEST = float(numpy.finfo(numpy.float32).max)


def write_trec(evaluation: Evaluation, directory: Path, tag: str = "convqa") -> tuple[Path, Path]:
    """Write DIRECTORY/run.trec and DIRECTORY/truth.qrels; returns their paths.

    Query ids are turns as text (``conversation_turn``). The format separates by blanks, so blanks in ids are
    percent-encoded, and nothing else is. The truth holds the turns that the task's official measure of rankings rests
    on. Every tool finds the same means without an option: of passages that tie the later gets the next lower score, and
    a turn of the truth that ranks nothing has a line with an id of no passage, without which trec_eval leaves it out.

    :raises InputError: if the task has no rankings, or two ids are the same once their blanks are encoded.
    """
    judged = evaluation.task.judged(evaluation.gold, evaluation.run)
    if judged is None:
        raise InputError(f"--trec: a run of the task {evaluation.task.name} ranks no passages; leave the option out.")
    spellings = {NOTHING: ""}

    def encode(id: str) -> str:
        encoded = _encoded(id)
        if spellings.setdefault(encoded, id) != id:
            raise InputError(f"{id!r} and {spellings[encoded]!r} are the same id in a TREC file; rename one of them.")
        return encoded

    run, qrels = directory / RUN, directory / QRELS
    with whole_file(run) as stream:
        for turn, scores in judged.rankings.items():
            hits = [(encode(id), score) for id, score in _falling(scores)]
            if not hits and judged.relevant.get(turn):
                hits = [(NOTHING, numpy.float32(0))]
            stream.writelines(
                f"{_encoded(turn)} Q0 {id} {rank} {score!s} {_encoded(tag)}\n".encode()
                for rank, (id, score) in enumerate(hits, 1)
            )
    with whole_file(qrels) as stream:
        stream.writelines(
            f"{_encoded(turn)} 0 {encode(id)} 1\n".encode() for turn, ids in judged.relevant.items() for id in ids
        )
    return run, qrels


def _falling(scores: Mapping[str, float]) -> Iterator[tuple[str, numpy.float32]]:
    """Ids with finite 32-bit scores, each below the one before it: tools break ties in their own ways."""
    limit = numpy.finfo(numpy.float32).max
    for id in ranked(scores):
        score = min(numpy.float32(max(min(scores[id], _LARGEST), -_LARGEST)), limit)
        limit = numpy.nextafter(score, numpy.float32(-numpy.inf))
        yield id, score


def _encoded(id: str) -> str:
    """Blanks of every kind, percent-encoded.

    >>> _encoded("Types of cheese:19")
    'Types%20of%20cheese:19'
    """
    return _BLANK.sub(lambda blank: quote(blank[0]), id)
