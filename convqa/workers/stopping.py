"""Stop work for which nobody waits any more, such as the reading of a request that took too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from convqa.errors import RunError

_IS_STOPPED: ContextVar[Callable[[], bool] | None] = ContextVar("is_stopped", default=None)


class Abandoned(RunError):
    """Nobody waits for the results any more."""


@contextmanager
def until(is_stopped: Callable[[], bool]) -> Iterator[None]:
    """Stop the work within at its next check after ``is_stopped`` returns true."""
    token = _IS_STOPPED.set(is_stopped)
    try:
        yield
    finally:
        _IS_STOPPED.reset(token)


def stop_check() -> Callable[[], None]:
    """Return the check of this thread's work, for any thread. It raises :class:`Abandoned` if the work is to stop."""
    is_stopped = _IS_STOPPED.get()

    def check() -> None:
        if is_stopped is not None and is_stopped():
            raise Abandoned("nobody waits for these answers any more.")

    return check
