"""Write run.trec, the rankings of a run as a TREC run file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from convqa.domain import Response, TurnId
from convqa.files import whole_file
from convqa.tasks.files import file_at, read_lines
from convqa.tasks.qrecc import run as qrecc
from convqa.tasks.trec.truth import turn_id

FILE = "run.trec"
EXPECTED = "a TREC run"


@dataclass(frozen=True, slots=True)
class TrecRun:
    """The rankings of a run by turn: {passage, named as in TREC files: score}."""

    path: Path
    rankings: Mapping[TurnId, Mapping[str, float]]


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
    """Read a TREC run file, or the rankings of a run.json of QReCC, or the one in a directory.

    :raises InputError: naming the malformed line.
    """
    from convqa.metrics.trec import encoded, read_rankings

    file = file_at(path, FILE)
    if not file.is_file() and path.is_dir():
        file = file_at(path, qrecc.FILE)
    rankings: Mapping[str, Mapping[str, float]]
    if file.suffix == ".json":
        rankings = qrecc.read(file).passages
    else:
        lines = ((number, line.decode("utf-8-sig", "replace")) for number, line in read_lines(file, EXPECTED))
        rankings = read_rankings(file, lines)
    by_turn = {}
    for turn, scores in rankings.items():
        by_turn[turn_id(encoded(turn))] = {encoded(id): score for id, score in scores.items()}
    return TrecRun(file, by_turn)
