"""Write the run and the truth as TREC files, for trec_eval, ir-measures and similar tools."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from convqa.errors import InputError
from convqa.evaluation.result import Evaluation
from convqa.files import whole_file
from convqa.metrics.trec import NOTHING, encoded, run_lines

RUN = "run.trec"
QRELS = "truth.qrels"


def write_trec(evaluation: Evaluation, directory: Path, tag: str = "convqa") -> tuple[Path, Path]:
    """Write DIRECTORY/run.trec and DIRECTORY/truth.qrels, and return their paths.

    Query ids are turns as text (``conversation_turn``). Only blanks in ids are percent-encoded, since they separate the
    fields. The truth holds the turns of the task's official measure of rankings. All tools compute the same means
    without options: ties are broken by the next lower score, and an empty ranking has a line with the id of no passage,
    since trec_eval would leave the turn out otherwise.

    :raises InputError: if the task has no rankings, or two ids are equal after encoding.
    """
    judged = evaluation.task.judged(evaluation.gold, evaluation.run)
    if judged is None:
        raise InputError(f"--trec: a run of the task {evaluation.task.name} has no rankings; omit the option.")
    ids = [id for ranking in judged.rankings.values() for id in ranking]
    _check_distinct([*ids, *(id for relevant in judged.relevant.values() for id in relevant)])
    run, qrels = directory / RUN, directory / QRELS
    with whole_file(run) as stream:
        for turn, scores in judged.rankings.items():
            ranking = scores or ({NOTHING: 0.0} if judged.relevant.get(turn) else {})
            stream.writelines(line.encode() for line in run_lines(turn, ranking, tag))
    with whole_file(qrels) as stream:
        stream.writelines(
            f"{encoded(turn)} 0 {encoded(id)} 1\n".encode() for turn, ids in judged.relevant.items() for id in ids
        )
    return run, qrels


def _check_distinct(ids: Iterable[str]) -> None:
    """:raises InputError: for two ids that are equal after encoding."""
    spellings = {NOTHING: ""}
    for id in ids:
        if spellings.setdefault(encoded(id), id) != id:
            raise InputError(f"{id!r} and {spellings[encoded(id)]!r} are the same id in a TREC file; rename one.")
