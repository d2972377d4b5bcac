"""run.trec: the rankings of a run as a TREC runfile, for trec_eval and the retrieval tasks of the tracks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from convqa.domain import Response
from convqa.errors import InputError
from convqa.files import whole_file
from convqa.tasks.files import file_at

FILE = "run.trec"


@dataclass(frozen=True, slots=True)
class Run:
    """A runfile; the tracks score it."""

    path: Path


def write(responses: Iterable[Response], directory: Path, stages: frozenset[str], *_: object) -> Path:
    """One line for each passage; a turn is named ``NUMBER_TURN``, or as its topic where that has one turn.

    A turn without a ranking has no line: nothing that trec_eval reads stands for it.
    """
    from convqa.metrics.trec import run_lines  # numpy, which the command line does not wait for

    with whole_file(directory / FILE) as stream:
        ranked = responses if "rankings" in stages else ()
        for _, turns in groupby(ranked, key=lambda response: response.id.conversation):
            some = list(turns)
            for response in some:
                scores = {hit.id: hit.score for hit in response.ranking.hits} if response.ranking else {}
                name = str(response.id.conversation) if len(some) == 1 else str(response.id)
                stream.writelines(line.encode() for line in run_lines(name, scores, "convqa"))
    return directory / FILE


def read(path: Path) -> Run:
    """The runfile, or the one in a directory. :raises InputError: if there is none."""
    file = file_at(path, FILE)
    if not file.is_file():
        raise InputError(f"{file}: no such file; wanted a TREC runfile.")
    return Run(file)
