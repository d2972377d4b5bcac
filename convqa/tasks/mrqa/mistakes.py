"""What happens to a mistake in a file: it ends the reading, or it is skipped and counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Protocol

from convqa.errors import InputError
from convqa.files import log


class Mistakes(Protocol):
    """Called with a mistake of some kind; whoever calls goes on without the part that is wrong."""

    def found(self, kind: str, error: InputError) -> None: ...


class Strict:
    """The first mistake ends it."""

    def found(self, kind: str, error: InputError) -> None:  # noqa: ARG002
        raise error


class Lenient:
    """Skips what is wrong and counts it by kind (``counts``); each file's mistakes are told in one warning."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._in_file: Counter[str] = Counter()
        self._first: dict[str, str] = {}
        self._told: set[Path] = set()

    def found(self, kind: str, error: InputError) -> None:
        self.counts[kind] += 1
        self._in_file[kind] += 1
        self._first.setdefault(kind, str(error))

    def tell(self, path: Path) -> None:
        """Warn of what was found in the file that was just read; once, however often it is read."""
        if self._in_file and path not in self._told:
            skipped = ", ".join(f"{count} {kind}" for kind, count in self._in_file.items())
            log.warning("%s: went on without %s. The first of each: %s", path, skipped, " ".join(self._first.values()))
            self._told.add(path)
        self._in_file.clear()
        self._first.clear()
