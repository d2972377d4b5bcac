"""The errors of convqa. Every message says what, where, what was wanted and what to do.

``InputError`` and ``WorkError`` are ordinary exceptions. ``RunError`` derives from ``BaseException`` because it has to
cross a Haystack pipeline unwrapped (Haystack wraps every ``Exception`` and writes a snapshot into the home folder);
the driver catches it, and at the Python door it becomes a ``WorkError``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class ConvqaError(Exception):
    """Base of every error that a caller of convqa may want to catch. ``exit_code`` is the command line's."""

    exit_code = 1


class InputError(ConvqaError):
    """The user's mistake: a file, an option, a pipeline, a missing extra."""

    exit_code = 2


class DuplicatePassage(InputError):
    """Two passages with one id and different contents; whoever read the files can say where they stand."""

    def __init__(self, message: str, id: str) -> None:
        super().__init__(message)
        self.id = id


class OtherRun(InputError):
    """The output folder holds a run of another input, pipeline, collection or code."""


class WorkError(ConvqaError):
    """The work failed, though what was asked was right."""

    exit_code = 1


class RunError(BaseException):
    """Something that stops a whole run. ``transient`` errors are worth waiting for (a server that restarts).

    ``mistake`` is the user's mistake that stopped it, if it was one.
    """

    transient = False

    def __init__(self, message: str, mistake: InputError | None = None) -> None:
        super().__init__(message)
        self.mistake = mistake

    def ordinary(self) -> ConvqaError:
        """The same as an exception that callers of a library expect."""
        return self.mistake or WorkError(str(self))


@contextmanager
def ordinary_errors() -> Iterator[None]:
    """Run errors cross Haystack as BaseException; callers of a library expect an Exception."""
    try:
        yield
    except RunError as error:
        raise error.ordinary() from error


class StoreUnavailable(RunError):
    """A store does not answer now."""

    transient = True


class StoreDamaged(RunError):
    """A collection cannot be read as its manifest says."""


class StorageFull(RunError):
    """A file cannot be written: no space, no permission, a read-only disk."""


def reason_of(error: BaseException) -> str:
    """The first line of what an exception says; its kind where it says nothing.

    >>> reason_of(ValueError("no such tensor\\nat 0x7f")), reason_of(TimeoutError())
    ('no such tensor', 'TimeoutError')
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def nearest(name: str, known: Iterable[str]) -> str:
    """`` Did you mean 'x'?`` for the closest known name, or an empty string.

    >>> nearest("copi", ["copy", "expansion"])
    " Did you mean 'copy'?"
    """
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean {found[0]!r}?" if found else ""
