"""Java's exceptions as convqa's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from convqa.errors import InputError, RunError, StoreDamaged, WorkError
from convqa.stores.anserini.java import CLASSPATH, OPTIONS, start

CLAUSES = "TooManyClauses"
"""Part of the name of Lucene's exception for a query of more than 1,024 words."""

_DAMAGED = {"CorruptIndexException", "EOFException", "NoSuchFileException", "FileNotFoundException"}


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Start Java, and translate its exceptions.

    :raises InputError: for a folder that is not an index, or one that this Anserini cannot read.
    :raises StoreDamaged: if a file is missing or corrupt.
    :raises RunError: if Java runs out of memory.
    """
    start()
    import jpype

    try:
        yield
    except jpype.JException as error:
        raise _translated(folder, error) from error


def name_of(error: Any) -> str:
    """Return the name of a Java exception without its package."""
    return str(error.getClass().getName()).rpartition(".")[2]


def _translated(folder: Path, error: Any) -> BaseException:
    name = name_of(error)
    message = " ".join(str(error.getMessage()).split())[:300]
    if name.startswith("IndexFormatToo") or (name == "IllegalArgumentException" and "codec" in message):
        return InputError(
            f"index {folder} was made by a Lucene that Anserini's jar does not read ({message}). If it is too new, get "
            f"a later jar: pip install --upgrade pyserini, or name its fatjar in {CLASSPATH}. If it is too old (before "
            "Lucene 8, Anserini 0.6), index the passages again."
        )
    if name in _DAMAGED:
        return StoreDamaged(f"index {folder} is damaged ({name}: {message}). Copy it again.")
    if name == "AccessDeniedException":
        return InputError(f"index {folder} may not be read ({message}). Change its permissions.")
    if name == "OutOfMemoryError":
        return RunError(f"index {folder}: Java ran out of memory. Give it more, for example {OPTIONS}=-Xmx4g.")
    return WorkError(f"index {folder}: Java raised {name}: {message}")
