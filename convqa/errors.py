"""The errors of convqa. Every message says what is wrong, where, what was expected and what to do.

``InputError`` and ``WorkError`` are ordinary exceptions. ``RunError`` derives from ``BaseException`` so that it crosses
a Haystack pipeline unwrapped (Haystack wraps every ``Exception`` and writes a snapshot into the home folder). The
driver catches it; the Python API turns it into a ``WorkError``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class ConvqaError(Exception):
    """Base of the errors for callers of convqa. ``exit_code`` is the exit code of the command line."""

    exit_code = 1


class InputError(ConvqaError):
    """The user's mistake: a file, an option, a pipeline, a missing extra."""

    exit_code = 2


class ArgumentError(InputError):
    """A mistake in a call from Python, which its message names. That of its cause names options of the command line."""


class OtherRun(InputError):
    """The output folder holds a run of another input, pipeline, collection or code."""


class WorkError(ConvqaError):
    """The work failed through no mistake of the user."""


class CollectionBusy(WorkError):
    """Another process is writing the collection."""


class RunError(BaseException):
    """An error that stops a whole run. After a ``transient`` one (a server restarts) the run is retried.

    ``mistake`` is the underlying mistake of the user, if there is one.
    """

    transient = False

    def __init__(self, message: str, mistake: InputError | None = None) -> None:
        super().__init__(message)
        self.mistake = mistake

    def ordinary(self) -> ConvqaError:
        """Return the ordinary exception for callers of the library."""
        return self.mistake or WorkError(str(self))


@contextmanager
def ordinary_errors() -> Iterator[None]:
    """Raise each RunError as an ordinary exception."""
    try:
        yield
    except RunError as error:
        raise error.ordinary() from error


@contextmanager
def errors_in(place: str) -> Iterator[None]:
    """Name a place, such as a file, in front of the message of each InputError."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


class StoreUnavailable(RunError):
    """A store does not answer."""

    transient = True


class StoreDamaged(RunError):
    """A collection does not match its manifest."""


INDEX_AGAIN = "Index its passages again with --replace."
"""Advice for a damaged collection."""


class StorageFull(RunError):
    """A file cannot be written: no space, no permission, a read-only disk."""


def reason_of(error: BaseException) -> str:
    """Return the first line of an exception's message, or its type if it has none.

    >>> reason_of(ValueError("no such tensor\\nat 0x7f")), reason_of(TimeoutError())
    ('no such tensor', 'TimeoutError')
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def counted(count: int, things: str) -> str:
    """Return a number with what it counts, given as a plural in "s".

    >>> counted(1, "gold turns"), counted(1040, "passages")
    ('1 gold turn', '1,040 passages')
    """
    return f"{count:,} {things.removesuffix('s') if count == 1 else things}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the closest known name, or an empty string.

    >>> nearest("copi", ["copy", "expansion"]), nearest("mrr", ["F1", "MRR"])
    (" Did you mean 'copy'?", " Did you mean 'MRR'?")
    """
    names = {other.lower(): other for other in known}
    matches = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    return f" Did you mean {names[matches[0]]!r}?" if matches else ""
