"""SCAI-QReCC-21 and -22: open-domain conversational question answering (https://github.com/scai-conf/SCAI-QReCC-21)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from convqa.domain import Conversation, Response, TurnId
from convqa.tasks.base import Groups, Problem, Task
from convqa.tasks.qrecc import check, input, official, run, score, truth
from convqa.tasks.qrecc.run import Run
from convqa.tasks.qrecc.schema import turn_key
from convqa.tasks.qrecc.score import Options
from convqa.tasks.qrecc.truth import Gold
from convqa.tasks.scores import Judged, Scores


class QReCC(Task):
    """questions.json in, run.json out, ground-truth.json to score it."""

    name = "qrecc"
    run_file = run.FILE
    truth_file = truth.FILE
    official_file = official.FILE
    default_pipeline = "default"
    options = Options

    def matches(self, path: Path) -> bool:
        return input.matches(path)

    def read(self, path: Path) -> Iterator[Conversation]:
        return input.read(path)

    def gold(self, path: Path) -> Gold:
        return truth.read(path)

    def write(
        self,
        responses: Iterable[Response],
        directory: Path,
        stages: frozenset[str],
        questions: Iterable[str] | None = None,  # noqa: ARG002
    ) -> Path:
        return run.write(responses, directory, stages)

    def read_run(self, path: Path) -> Run:
        return run.read(path)

    def check(self, run_dir: Path, input_path: Path) -> list[Problem]:
        return check.check(run_dir, input_path)

    def score(self, gold: Gold, run: Run, options: Options) -> list[Scores]:
        return score.score(gold, run, options)

    def official_text(self, means: Mapping[str, float]) -> str:
        return official.text(means)

    def key(self, id: TurnId) -> dict[str, Any]:
        return turn_key(id)

    def judged(self, gold: Gold, run: Run) -> Judged:
        return score.judged(gold, run)

    def breakdowns(self, gold: Gold, path: Path) -> Mapping[str, Callable[[], Groups]]:
        return {truth.NAME: partial(truth.groups, gold, path)}
