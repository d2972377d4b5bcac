"""Checks that the engines share: a collection's address, analyzer, vectors and encoder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.stores.base import Encoder, Floats, label
from convqa.text.analysis import Analyzer, analyzer

LARGEST = 1e18
"""Maximum length of a vector, so that inner products fit into 32-bit floats."""


def check_folder(folder: Path, what: str, advice: str = "") -> None:
    """:raises InputError: if ``folder``, which messages call ``what``, is missing or a file."""
    if not folder.is_dir():
        problem = "is a file, not a folder" if folder.exists() else "does not exist"
        raise InputError(f"{what} {folder} {problem}. {advice}".rstrip())


def found_in(folder: Path, is_collection: Callable[[Path], bool]) -> list[Path]:
    """Return the collections among a folder and its direct subfolders."""
    check_folder(folder, "folder")
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    return [path for path in (folder, *inside) if is_collection(path)]


def stored_analyzer(language: str, name: str, place: str) -> Analyzer:
    """Return the analyzer of a collection's language.

    :param name: the name of the analyzer that the collection was indexed with.
    :raises InputError: if the installed analyzer has another name.
    """
    installed = analyzer(language)
    if installed.name != name:
        raise InputError(
            f"{place} was analyzed by {name}; this version of convqa has {installed.name}. Index its passages again "
            "with --replace."
        )
    return installed


def checked_vectors(
    matrix: object,
    rows: int | None,
    encoder: Encoder,
    place: str,
) -> Floats:
    """Return a new array of 32-bit floats, of shape (rows, dimension).

    :param rows: the expected number; None accepts any.
    :raises InputError: for another shape, or a component that is not finite or too large.
    """
    try:
        with np.errstate(over="ignore"):
            values: NDArray[Any] = np.array(matrix, np.float32, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"{place}: vectors must be a matrix of numbers ({error}).") from error
    expected = (values.shape[0] if rows is None and values.ndim else rows, encoder.dimension)
    if values.shape != expected:
        raise InputError(
            f"{place}: expected vectors of shape {expected}, got {values.shape}: one row each, of the "
            f"{encoder.dimension} dimensions of {encoder.name}."
        )
    fits = np.sqrt(np.einsum("rd,rd->r", values, values, dtype=np.float64)) < LARGEST
    if not fits.all():
        raise InputError(
            f"{place}: vector {int(np.argmin(fits)) + 1} of {len(values)} has a component that is NaN, infinite or too "
            f"large. Expected finite numbers; check the input of {encoder.name}."
        )
    return values


def refuse_other_encoder(
    known: Encoder | None,
    encoder: Encoder,
    place: str,
) -> None:
    """:raises InputError: if the encoder of new vectors is not that of a collection's, if it has any."""
    if known not in {None, encoder}:
        raise InputError(
            f"{place} has vectors of {label(known)}, got vectors of {label(encoder)}. Add vectors of the same encoder, "
            "or index the passages again with --replace."
        )
