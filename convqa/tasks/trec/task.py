"""The task TREC: topics of conversational tracks, and the qrels by which their rankings are scored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.tasks.base import Task
from convqa.tasks.trec import input, run, score, truth


class Trec(Task):
    """Reads a file of topics, and writes run.trec, which is scored by a file of qrels."""

    name = "trec"
    input_file = input.EXPECTED
    truth_file = truth.EXPECTED
    run_file = run.FILE
    measures = score.MEASURES
    default_pipeline = "default"
    legend = (
        "nDCG: with the grades as gains. R, MAP: grades above 0 are relevant. Judged: share of the first passages that "
        "have a grade. See docs/tasks/trec.md."
    )

    has_input = staticmethod(input.recognize)
    has_truth = staticmethod(truth.recognize)
    read = staticmethod(input.read)
    write = staticmethod(run.write)
    read_run = staticmethod(run.read)
    part = staticmethod(score.part)
    judged = staticmethod(score.judged)
    score = staticmethod(score.score)

    def gold(self, path: Path) -> truth.Qrels:
        if input.recognize(path):
            raise InputError(f"{path}: topics have no truth. Score runs by the track's judgments: --qrels FILE.")
        return truth.read(path)

    def key(self, id: TurnId) -> dict[str, Any]:
        return {"topic": id.conversation, "turn": id.number}
