"""The run and the truth as TREC files, for trec_eval, ir-measures and every tool that reads those."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import numpy

from convqa.errors import InputError
from convqa.evaluation.result import Evaluation
from convqa.files import whole_file
from convqa.metrics.ranked import ranked

RUN = "run.trec"
QRELS = "truth.qrels"
_BLANK = re.compile(r"\s")


def write_trec(evaluation: Evaluation, directory: Path, tag: str = "convqa") -> tuple[Path, Path]:
    """Write DIRECTORY/run.trec and DIRECTORY/truth.qrels; returns their paths.

    Query ids are ``conversation_turn``. The format separates by blanks, so blanks in ids are percent-encoded, and
    nothing else is. The truth holds the turns that the official MRR rests on: those with true passages for which the
    run has Model_passages, so that every tool finds the same mean.

    :raises InputError: if two ids are the same once their blanks are encoded.
    :raises StorageFull: if a file cannot be written.
    """
    spellings: dict[str, str] = {}

    def encode(id: str) -> str:
        encoded = _encoded(id)
        if spellings.setdefault(encoded, id) != id:
            raise InputError(f"{id!r} and {spellings[encoded]!r} are the same id in a TREC file; rename one of them.")
        return encoded

    run, qrels = directory / RUN, directory / QRELS
    with whole_file(run) as stream:
        stream.writelines(
            f"{_encoded(turn)} Q0 {encode(id)} {rank} {numpy.float32(scores[id])!s} {_encoded(tag)}\n".encode()
            for turn, scores in evaluation.run.passages.items()
            for rank, id in enumerate(ranked(scores), 1)
        )
    with whole_file(qrels) as stream:
        stream.writelines(f"{_encoded(turn)} 0 {encode(id)} 1\n".encode() for turn, id in _relevant(evaluation))
    return run, qrels


def _relevant(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    truth = {str(turn.id): turn.passages for turn in evaluation.gold.turns if turn.passages}
    for turn, passages in truth.items():
        if turn in evaluation.run.passages:
            yield from ((turn, id) for id in dict.fromkeys(passages))


def _encoded(id: str) -> str:
    """Blanks of every kind, percent-encoded.

    >>> _encoded("Types of cheese:19")
    'Types%20of%20cheese:19'
    """
    return _BLANK.sub(lambda blank: quote(blank[0]), id)
