"""The base class of tasks: a benchmark's files, measures and run format."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from convqa.domain import (
    DEFAULT_LANGUAGE,
    Conversation,
    Passage,
    Response,
    TurnId,
)
from convqa.errors import InputError
from convqa.tasks.files import file_at
from convqa.tasks.scores import (
    Gold,
    GoldTurn,
    JudgedRankings,
    Run,
    ScoreOptions,
    Scores,
)

Groups = Mapping[str, frozenset[TurnId]]


class Task(ABC):
    """Base class of tasks. ``path`` is an input directory, or an input file where the task accepts one.

    The task of a path is recognized by the file names ``input_file``, ``truth_file`` and ``run_file``. A task that
    looks at more than the name (by overriding ``has_input``, ``has_truth`` or ``has_run``) describes the files there
    instead; error messages and the help of ``convqa evaluate`` quote them.
    """

    name: ClassVar[str]
    input_file: ClassVar[str]
    truth_file: ClassVar[str]
    run_file: ClassVar[str]
    official_file: ClassVar[str] = "evaluation.json"
    default_pipeline: ClassVar[str]
    language: ClassVar[str] = DEFAULT_LANGUAGE  # of the passages in the input
    passages_file: ClassVar[str] = ""  # describes the task's own passages file for error messages; "" if it has none
    id_field: ClassVar[str] = "id"  # the name of a conversation's id in the task's files
    options: ClassVar[type[ScoreOptions]] = ScoreOptions
    measures: ClassVar[tuple[str, ...]] = ()  # official measures of rankings that convqa.evaluation.measures knows
    legend: ClassVar[str] = ""  # explains the measures, below the table of scores

    def has_input(self, path: Path) -> bool:
        """Whether the directory or file looks like this task's input."""
        return is_or_holds(path, self.input_file)

    def has_truth(self, path: Path) -> bool:
        """Whether the directory or file looks like this task's truth."""
        return is_or_holds(path, self.truth_file)

    def has_run(self, path: Path) -> bool:
        """Whether the directory or file looks like a run of this task."""
        return is_or_holds(path, self.run_file)

    @abstractmethod
    def read(self, path: Path) -> Iterator[Conversation]:
        """Yield conversations in input order, with a warning (logger ``convqa``) for every repair.

        The driver reads all of them before it answers any, so errors may be raised lazily.

        :raises InputError: naming the file, record and field, the value and what was expected.
        """

    def passages(self, path: Path) -> Iterable[Passage] | None:  # noqa: ARG002
        """Return the passages that come with the input, or None."""
        return None

    def pipeline_for(self, path: Path) -> str:  # noqa: ARG002
        """Return the default pipeline for this input."""
        return self.default_pipeline

    @abstractmethod
    def gold(self, path: Path) -> Gold[GoldTurn]:
        """Read the truth. Its type is the task's own, so that no component can receive it.

        :raises InputError: naming the file, record and field.
        """

    @abstractmethod
    def write(
        self,
        responses: Iterable[Response],
        directory: Path,
        stages: frozenset[str],
        questions: Iterable[str],
        /,
    ) -> Path:
        """Write the run file atomically and return its path.

        :param stages: the pipeline's ``outputs``: rewrites, rankings, readings, answers. The fields of a missing stage
            are omitted for all turns.
        :param questions: the user's question for each response, for run files that repeat it.
        :raises StorageFull: if the file cannot be written.
        """

    @abstractmethod
    def read_run(self, path: Path) -> Run:
        """Read and check a run file, or the one in a run directory.

        :raises InputError: at the first format error that prevents scoring.
        """

    def problems(self, input_path: Path, file: Path) -> Iterable[tuple[str, str]]:  # noqa: ARG002
        """Yield (record or "" for the file, message) for every format error of a run file.

        :raises InputError: if the run or the input cannot be read.
        """
        return ()

    def check(
        self,
        input_path: Path,
        run_path: Path,
    ) -> list[str]:
        """List all format errors of a run (directory or file) over this input: file, record and message.

        :raises InputError: if the input cannot be read. An unreadable run is a problem.
        """
        file = file_at(run_path, self.run_file)
        try:
            problems = list(self.problems(input_path, file))
        except InputError as error:
            if not str(error).startswith(f"{file}: "):
                raise
            return [str(error)]
        return [": ".join(filter(None, (str(file), record, message))) for record, message in problems]

    def part(
        self,
        gold: Any,
        run: Any,
    ) -> Any:
        """Restrict the truth to the turns of the run, by default to the conversations in its ``answers``."""
        answers = run.answers
        return replace(
            gold,
            turns=tuple(turn for turn in gold.turns if turn.id.conversation in answers),
        )

    @abstractmethod
    def score(
        self,
        gold: Any,
        run: Any,
        options: Any,
        /,
    ) -> list[Scores]:
        """Score a run; the measures are in the order of the official file and the table.

        :param gold: the result of ``gold``, and ``run`` that of ``read_run``.
        :param options: an instance of the class ``options``.
        """

    def official_text(self, means: Mapping[str, float]) -> str:
        """Format the official file from the means of the official measures that have a value."""
        return json.dumps(dict(means)) + "\n"

    def key(self, id: TurnId) -> dict[str, Any]:
        """Return the fields that identify a turn in the task's files."""
        return {self.id_field: id.conversation}

    def judged(self, gold: Any, run: Any) -> JudgedRankings | None:  # noqa: ARG002
        """Return the run's rankings with their relevant passages, or None if the task has no rankings."""
        return None

    def breakdowns(self, gold: Any, path: Path) -> Mapping[str, Callable[[], Groups]]:  # noqa: ARG002
        """Return functions that compute groups of turns, for breakdowns that are not a field of the truth.

        :param path: where the truth was read from.
        """
        return {}


def is_or_holds(path: Path, name: str) -> bool:
    """Whether a directory holds a file of that name, or a file's name ends in it."""
    return (path / name).is_file() or (path.is_file() and path.name.endswith(name))
