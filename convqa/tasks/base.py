"""What a task is: a benchmark's files, measures and run format, in one home."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from convqa.domain import Conversation, Passage, Response


@dataclass(frozen=True, slots=True)
class Problem:
    """One format error: the file, the record in it (or ""), and what is wrong and wanted."""

    file: str
    record: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}: {self.record}: {self.message}" if self.record else f"{self.file}: {self.message}"


class Task(ABC):
    """Base of every task. ``path`` is an input directory, or a single input file where the task accepts one."""

    name: ClassVar[str]
    run_file: ClassVar[str]
    default_pipeline: ClassVar[str]
    measures: ClassVar[tuple[str, ...]]

    @abstractmethod
    def matches(self, path: Path) -> bool:
        """Whether the directory or file looks like this task's input."""

    @abstractmethod
    def read(self, path: Path) -> Iterator[Conversation]:
        """Conversations in input order; warns (logger ``convqa``) about what it mended. Errors come before the first.

        :raises InputError: naming file, record, field, what was found and what is wanted.
        """

    def passages(self, path: Path) -> Iterable[Passage] | None:  # noqa: ARG002
        """The task's own passages where it brings them, else None."""
        return None

    @abstractmethod
    def gold(self, path: Path) -> Any:
        """The truth: a type of the task's own, so that no component can receive it."""

    @abstractmethod
    def write(self, responses: Iterable[Response], directory: Path, stages: frozenset[str]) -> Path:
        """Write the run file whole or not at all; returns its path.

        :param stages: what the pipeline makes, named as its ``outputs``: rewrites, rankings, readings, answers. A
            stage that is not there omits its fields for all turns alike.
        :raises StorageFull: if the file cannot be written.
        """

    @abstractmethod
    def read_run(self, path: Path) -> Any:
        """A run file, or the one in a run directory, checked.

        :raises InputError: at the first format error that keeps it from being scored.
        """

    @abstractmethod
    def check(self, run_dir: Path, input_path: Path) -> list[Problem]:
        """All format errors of a run at once."""
