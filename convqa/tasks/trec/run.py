"""Write run.trec, the rankings of a run as a TREC run file."""

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
class TrecRun:
    """A TREC run file, which the tracks score."""

    path: Path


def write(
    responses: Iterable[Response],
    directory: Path,
    stages: frozenset[str],
    *_: object,
) -> Path:
    """Write one line per passage. A turn is called ``NUMBER_TURN``, or as its topic if that has one turn.

    A turn without a ranking has no line, since trec_eval knows none for it.
    """
    from convqa.metrics.trec import (
        run_lines,
    )  # imports numpy, for which the command line should not wait

    with whole_file(directory / FILE) as stream:
        ranked = responses if "rankings" in stages else ()
        for _, group in groupby(ranked, key=lambda response: response.id.conversation):
            turns = list(group)
            for response in turns:
                scores = {hit.id: hit.score for hit in response.ranking.hits} if response.ranking else {}
                name = str(response.id.conversation) if len(turns) == 1 else str(response.id)
                stream.writelines(line.encode() for line in run_lines(name, scores, "convqa"))
    return directory / FILE


def read(path: Path) -> TrecRun:
    """Find the run file, or the one in a directory."""
    file = file_at(path, FILE)
    if not file.is_file():
        raise InputError(f"{file}: no such file; expected a TREC run file.")
    return TrecRun(file)
