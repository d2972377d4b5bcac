"""SCAI-QReCC-21 and -22: open-domain conversational question answering (https://github.com/scai-conf/SCAI-QReCC-21)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from convqa.domain import Conversation, Response
from convqa.tasks.base import Problem, Task
from convqa.tasks.qrecc import check, questions, run, truth
from convqa.tasks.qrecc.run import Run
from convqa.tasks.qrecc.truth import Gold, GoldTurn

__all__ = ["Gold", "GoldTurn", "QReCC", "Run"]


class QReCC(Task):
    """questions.json in, run.json out, ground-truth.json to score it."""

    name = "qrecc"
    run_file = run.FILE
    default_pipeline = "default"
    measures = ("QR", "MRR", "EM", "F1", "ROUGE1-R")

    def matches(self, path: Path) -> bool:
        return questions.matches(path)

    def read(self, path: Path) -> Iterator[Conversation]:
        return questions.read(path)

    def gold(self, path: Path) -> Gold:
        return truth.read(path)

    def write(self, responses: Iterable[Response], directory: Path, stages: frozenset[str]) -> Path:
        return run.write(responses, directory, stages)

    def read_run(self, path: Path) -> Run:
        return run.read(path)

    def check(self, run_dir: Path, input_path: Path) -> list[Problem]:
        return check.check(run_dir, input_path)
