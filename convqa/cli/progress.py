"""Progress: a bar with turns/s and time left on a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LINE_SECONDS = 10.0
"""Time between lines where there is no terminal."""


def per_second(rate: float, unit: str) -> str:
    """Format a rate with at least two digits, "" for 0."""
    if not rate:
        return ""
    number = f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}"
    return f"{number} {unit}/s"


class ProgressDisplay(AbstractContextManager["ProgressDisplay"]):
    """Reports progress to standard error when called with (done, total, note); total 0 means unknown.

    Without a terminal, work of less than 10 seconds prints nothing.
    """

    def __init__(self, verb: str, unit: str, quiet: bool = False) -> None:
        self._verb = verb
        self._unit = unit
        self._quiet = quiet
        self._bar: Progress | None = None
        self._bar_task: TaskID | None = None
        self._start = time.monotonic()
        self._last_line = self._start
        self._first: int | None = None

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int = 0, note: str = "") -> None:
        if self._quiet:
            return
        now = time.monotonic()
        if self._first is None:
            self._first = done
            self._start = now
        rate = max(done - self._first, 0) / max(now - self._start, 1e-9)
        if sys.stderr.isatty():
            self._draw(done, total, f"{per_second(rate, self._unit)} {note}".strip())
        elif now - self._last_line >= LINE_SECONDS:
            self._last_line = now
            count = f"{done} of {total}" if total else f"{done}"
            left = f"{(total - done) / rate:.0f} s left" if total and rate > 0 else ""
            parts = [f"{self._verb}: {count} {self._unit}", per_second(rate, self._unit), left, note]
            typer.echo(", ".join(filter(None, parts)), err=True)

    def _draw(self, done: int, total: int, rate: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        if self._bar is None:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn(self._unit),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar_task = self._bar.add_task(self._verb, total=total or None, rate="")
            self._bar.start()
        assert self._bar_task is not None
        self._bar.update(self._bar_task, completed=done, total=total or None, rate=rate)
