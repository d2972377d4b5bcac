"""The task TREC: topics of conversational tracks, which are scored by the tracks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from convqa.errors import InputError
from convqa.tasks.base import Task
from convqa.tasks.trec import input, run

_SCORED = f"TREC topics are scored by trec_eval or ir-measures: give them {run.FILE} and the track's qrels."


class Trec(Task):
    """Reads a file of topics and writes run.trec. It has no truth, since trec_eval reads the tracks' qrels."""

    name = "trec"
    input_file = input.EXPECTED
    truth_file = "no truth file"
    run_file = run.FILE
    default_pipeline = "default"
    id_field = "number"

    has_input = staticmethod(input.recognize)
    read = staticmethod(input.read)
    write = staticmethod(run.write)
    read_run = staticmethod(run.read)

    def has_truth(self, path: Path) -> bool:  # noqa: ARG002
        return False

    def gold(self, path: Path) -> NoReturn:
        raise InputError(f"{path}: {_SCORED}")

    def score(self, gold: Any, run: Any, options: Any, /) -> NoReturn:  # noqa: ARG002
        raise InputError(_SCORED)
