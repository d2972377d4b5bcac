"""A task: a benchmark's files, measures and run format, in one home."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from convqa.domain import DEFAULT_LANGUAGE, Conversation, Passage, Response, TurnId
from convqa.errors import InputError
from convqa.tasks.files import file_at
from convqa.tasks.scores import Gold, GoldTurn, Judged, Options, Run, Scores

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Problem:
    """One format error: the file, the record in it (or ""), and what is wrong and wanted."""

    file: str
    record: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}: {self.record}: {self.message}" if self.record else f"{self.file}: {self.message}"


Groups = Mapping[str, frozenset[TurnId]]


class Task(ABC):
    """Base of every task. ``path`` is an input directory, or a single input file where the task accepts one.

    ``input_file``, ``truth_file`` and ``run_file`` are names of files, by which the task of a path is recognised. Where
    ``has_input`` and its like look at more than a name, the first two say in words what they look for; error messages
    and the help of ``convqa evaluate`` quote them.
    """

    name: ClassVar[str]
    input_file: ClassVar[str]
    truth_file: ClassVar[str]
    run_file: ClassVar[str]
    official_file: ClassVar[str] = "evaluation.json"
    default_pipeline: ClassVar[str]
    language: ClassVar[str] = DEFAULT_LANGUAGE  # of the passages that come with its input
    passages_file: ClassVar[str] = ""  # the task's own, in words for who looks for them; "" where there is none
    id_field: ClassVar[str] = "id"  # what the task's files call the id of a conversation
    options: ClassVar[type[Options]] = Options

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
        """Conversations in input order; warns (logger ``convqa``) about what it repaired.

        The driver reads to the end before it answers anything, so an error may come at its place in the file.

        :raises InputError: naming file, record, field, what was found and what is wanted.
        """

    def passages(self, path: Path) -> Iterable[Passage] | None:  # noqa: ARG002
        """The task's own passages where it brings them, else None."""
        return None

    def pipeline_for(self, path: Path) -> str:  # noqa: ARG002
        """The pipeline that answers this input where none is asked for."""
        return self.default_pipeline

    @abstractmethod
    def gold(self, path: Path) -> Gold[GoldTurn]:
        """The truth: a type of the task's own, so that no component can receive it.

        :raises InputError: naming file, record and field.
        """

    @abstractmethod
    def write(
        self,
        responses: Iterable[Response],
        directory: Path,
        stages: frozenset[str],
        questions: Iterable[str] | None = None,
        /,
    ) -> Path:
        """Write the run file whole or not at all; returns its path.

        :param stages: what the pipeline makes, named as its ``outputs``: rewrites, rankings, readings, answers. A
            stage that is not there omits its fields for all turns alike.
        :param questions: what the user asked, response by response, for a run file that repeats it.
        :raises StorageFull: if the file cannot be written.
        """

    @abstractmethod
    def read_run(self, path: Path) -> Run:
        """A run file, or the one in a run directory, checked.

        :raises InputError: at the first format error that keeps it from being scored.
        """

    def problems(self, input_path: Path, file: Path) -> Iterable[tuple[str, str]]:  # noqa: ARG002
        """(record, or "" for the file; what is wrong and wanted) for every format error of a run file.

        :raises InputError: if the run or the input cannot be read.
        """
        return ()

    def check(self, input_path: Path, run_path: Path) -> list[Problem]:
        """All format errors of a run (a directory or the file) that answers the input.

        :raises InputError: if the input cannot be read; a run that cannot is a problem.
        """
        file = file_at(run_path, self.run_file)
        try:
            return [Problem(str(file), record, message) for record, message in self.problems(input_path, file)]
        except InputError as error:
            if not str(error).startswith(f"{file}: "):
                raise
            return [Problem(str(file), "", str(error).removeprefix(f"{file}: "))]

    def part(self, gold: Any, run: Any) -> Any:
        """The truth of only the turns that the run has: here those whose conversations are in its ``answers``."""
        answers = run.answers
        return replace(gold, turns=tuple(turn for turn in gold.turns if turn.id.conversation in answers))

    @abstractmethod
    def score(self, gold: Any, run: Any, options: Any, /) -> list[Scores]:
        """The measures of a run, in the order of the official file and the table.

        :param gold: what ``gold`` gave, and ``run`` what ``read_run`` gave.
        :param options: an instance of the class ``options``.
        """

    def official_text(self, means: Mapping[str, float]) -> str:
        """The content of the official file, from the means of the official measures that could be computed."""
        return json.dumps(dict(means)) + "\n"

    def key(self, id: TurnId) -> dict[str, Any]:
        """A turn's name, as the task's files write it."""
        return {self.id_field: id.conversation}

    def judged(self, gold: Any, run: Any) -> Judged | None:  # noqa: ARG002
        """The rankings of a run with their truth, if the task has any."""
        return None

    def breakdowns(self, gold: Any, path: Path) -> Mapping[str, Callable[[], Groups]]:  # noqa: ARG002
        """Groups of turns beyond those by a field of the truth: name -> how they are found.

        :param path: where the truth was read from.
        """
        return {}


def is_or_holds(path: Path, name: str) -> bool:
    """Whether a directory holds a file of that name, or a file's name ends so."""
    return (path / name).is_file() or (path.is_file() and path.name.endswith(name))


def id_problems(noun: str, asked: Collection[object], found: Collection[object]) -> Iterator[tuple[str, str]]:
    """Missing and foreign turns, as problems of the whole file."""
    yield from some_ids(f"{noun} of the input are missing", [id for id in asked if id not in found], len(asked))
    yield from some_ids(f"{noun} are not in the input", [id for id in found if id not in asked], len(found))


def some_ids(what: str, ids: Sequence[object], total: int) -> Iterator[tuple[str, str]]:
    """One problem of the whole file that names the first of some ids; none where there are no ids.

    >>> list(some_ids("turns are missing", [3, 7], 9)), list(some_ids("turns are missing", [], 9))
    ([('', '2 of 9 turns are missing: 3, 7')], [])
    """
    if ids:
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        yield "", f"{len(ids)} of {total} {what}: {', '.join(map(str, ids[:_SHOWN]))}{more}"
