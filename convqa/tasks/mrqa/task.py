"""MRQA 2019: reading comprehension, and every data set in SQuAD's format (https://github.com/mrqa/MRQA-Shared-Task-2019)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from convqa.domain import Conversation, Response, TurnId
from convqa.tasks.base import Problem, Task
from convqa.tasks.lines import files_in
from convqa.tasks.mrqa import check, run, score, truth
from convqa.tasks.mrqa.contexts import conversations
from convqa.tasks.mrqa.input import SUFFIXES, Owners, data_sets, is_data_set, read_contexts
from convqa.tasks.mrqa.run import Run
from convqa.tasks.mrqa.score import Options
from convqa.tasks.mrqa.truth import Gold
from convqa.tasks.scores import Scores


class MRQA(Task):
    """A file of contexts with questions, or a folder of such files, in; predictions.json out; the same to score it."""

    name = "mrqa"
    run_file = run.FILE
    truth_file = "data in MRQA's or SQuAD's format"
    official_file = score.OFFICIAL_FILE
    default_pipeline = "mrqa"
    options = Options

    def matches(self, path: Path) -> bool:
        return any(is_data_set(file) for file in (files_in(path, SUFFIXES) if path.is_dir() else [path]))

    has_truth = matches

    def read(self, path: Path) -> Iterator[Conversation]:
        """One at a time: a mistake further down comes when it is reached."""
        owners = Owners()
        for one in data_sets(path):
            for context in read_contexts(one.path, aligned=False):
                for question in context.questions:
                    owners.claim(question.id, one)
                yield from conversations(context, one.language)

    def gold(self, path: Path) -> Gold:
        return truth.read(path)

    def write(
        self,
        responses: Iterable[Response],
        directory: Path,
        stages: frozenset[str],  # noqa: ARG002
        questions: Iterable[str] | None = None,  # noqa: ARG002
    ) -> Path:
        return run.write(responses, directory)

    def read_run(self, path: Path) -> Run:
        return run.read(path)

    def check(self, run_dir: Path, input_path: Path) -> list[Problem]:
        return check.check(run_dir, input_path)

    def score(self, gold: Gold, run: Run, options: Options) -> list[Scores]:
        return score.score(gold, run, options)

    def official_text(self, means: Mapping[str, float]) -> str:
        return score.official_text(means)

    def key(self, id: TurnId) -> dict[str, Any]:
        return {"qid": id.conversation}
