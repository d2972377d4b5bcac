"""Checks that the engines share: a collection's address, its analyzer, vectors and their encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.stores.address import Address, redact
from convqa.stores.base import Encoder, Floats, VectorOptions, label
from convqa.text.analysis import Analyzer, analyzer

LARGEST = 1e18
"""Longest vector: an inner product of two is a 32-bit float."""


def refuse_fields(address: Address) -> None:
    """:raises InputError: if fields are named for a collection that has fields of its own."""
    if address.fields is not None or address.vector:
        raise InputError(
            f"collection {redact(address.url)} has fields of its own; leave fields, vector and encoder out."
        )


def check_folder(folder: Path, what: str, advice: str = "") -> None:
    """:raises InputError: if a folder does not exist, or is a file. ``what`` it is called in the message."""
    if not folder.is_dir():
        found = "is a file, not a folder" if folder.exists() else "does not exist"
        raise InputError(f"{what} {folder} {found}. {advice}".rstrip())


def stored_analyzer(language: str, name: str, place: str) -> Analyzer:
    """Return the analyzer of a language.

    :param name: the analyzer that the collection was made with.
    :raises InputError: if that is another one.
    """
    found = analyzer(language)
    if found.name != name:
        raise InputError(
            f"{place} was analysed by {name}; this version of convqa has {found.name}. Index its passages again with "
            "--replace."
        )
    return found


def checked_vectors(matrix: object, rows: int | None, encoder: Encoder, place: str) -> Floats:
    """Return vectors as 32-bit floats, in an array of their own of shape (rows, dimension).

    :param rows: how many are wanted; None = any number.
    :raises InputError: for another shape, or a component that is no finite number or too large.
    """
    try:
        with np.errstate(over="ignore"):
            values: NDArray[Any] = np.array(matrix, np.float32, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"{place}: vectors must be a matrix of numbers ({error}).") from error
    wanted = (values.shape[0] if rows is None and values.ndim else rows, encoder.dimension)
    if values.shape != wanted:
        raise InputError(
            f"{place}: found vectors of shape {values.shape}; wanted {wanted}: one row for each, of the "
            f"{encoder.dimension} dimensions of {encoder.name}."
        )
    fits = np.sqrt(np.einsum("rd,rd->r", values, values, dtype=np.float64)) < LARGEST
    if not fits.all():
        raise InputError(
            f"{place}: vector {int(np.argmin(fits)) + 1} of {len(values)} has a component that is NaN, infinite or too "
            f"large. Wanted: finite numbers; look at what {encoder.name} was given."
        )
    return values


def refuse_other_vectors(
    kept: Encoder, kept_as: VectorOptions, encoder: Encoder, options: VectorOptions | None, place: str
) -> None:
    """Raise unless vectors can be added to those that a store has.

    :raises InputError: for another encoder, or options that are given and differ.
    """
    if encoder != kept:
        have, found = label(kept), label(encoder)
    elif options not in {None, kept_as}:
        have, found = str(kept_as), str(options)
    else:
        return
    raise InputError(
        f"{place} has vectors of {have}; found some of {found}. Add vectors like those, or index the passages anew "
        "with --replace."
    )
