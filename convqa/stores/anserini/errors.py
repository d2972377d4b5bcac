"""Java's exceptions in the user's words."""

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
    """Everything that Java does with an index happens in here.

    :raises InputError: for what is no index, or one that this Anserini cannot read.
    :raises StoreDamaged: if a file of it is missing or not as it was written.
    :raises RunError: if Java has no memory left.
    """
    start()
    import jpype

    try:
        yield
    except jpype.JException as error:
        raise _translated(folder, error) from error


def name_of(error: Any) -> str:
    """The name of a Java exception without its package."""
    return str(error.getClass().getName()).rpartition(".")[2]


def _translated(folder: Path, error: Any) -> BaseException:
    name = name_of(error)
    said = " ".join(str(error.getMessage()).split())[:300]
    if name == "IndexNotFoundException":
        return InputError(f"{folder} is no Lucene index: there is no segments file in it.")
    if name == "IndexFormatTooOldException":
        return InputError(
            f"the index {folder} was made by a Lucene that is too old ({said}) Wanted: Lucene 8 or later, that is "
            "Anserini 0.6 or later. Index the passages again with a current Anserini, or with convqa index."
        )
    if name == "IndexFormatTooNewException" or (name == "IllegalArgumentException" and "codec" in said):
        return InputError(
            f"the index {folder} was made by a Lucene later than that of Anserini's jar ({said}). Get a later one: pip "
            f"install --upgrade pyserini, or name its fatjar in {CLASSPATH}."
        )
    if name in _DAMAGED:
        return StoreDamaged(f"the index {folder} is damaged ({name}: {said}). Copy it again.")
    if name == "AccessDeniedException":
        return InputError(f"the index {folder} may not be read ({said}). Change its permissions.")
    if name == "OutOfMemoryError":
        return RunError(f"Java has no memory left for the index {folder}. Give it more, for example {OPTIONS}=-Xmx4g.")
    return WorkError(f"the index {folder}: Java says {name}: {said}")
