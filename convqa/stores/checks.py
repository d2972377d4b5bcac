"""Checks that the engines share: a collection's address, analyzer, vectors and encoder."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.stores.address import Address, redact
from convqa.stores.base import Encoder, Floats, VectorOptions, label
from convqa.text.analysis import Analyzer, analyzer

LARGEST = 1e18
"""Maximum length of a vector, so that inner products fit into 32-bit floats."""


def refuse_fields(address: Address) -> None:
    """:raises InputError: if an address names fields of a collection whose fields are fixed."""
    if address.fields is not None or address.vector:
        raise InputError(f"collection {redact(address.url)} has fixed fields; leave fields, vector and encoder out.")


def check_folder(folder: Path, what: str, advice: str = "") -> None:
    """:raises InputError: if ``folder``, which messages call ``what``, is missing or a file."""
    if not folder.is_dir():
        problem = "is a file, not a folder" if folder.exists() else "does not exist"
        raise InputError(f"{what} {folder} {problem}. {advice}".rstrip())


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


def vectors_kept(
    kept: tuple[Encoder, VectorOptions] | None,
    encoder: Encoder,
    options: VectorOptions | None,
    precisions: Collection[str],
    place: str,
) -> tuple[Encoder, VectorOptions]:
    """Return the encoder of a collection's vectors, and how they are kept.

    :param kept: those of the vectors that it has, if any.
    :raises InputError: for vectors of another encoder, explicit options that differ, or options that are not supported.
    """
    known, kept_as = kept or (encoder, options or VectorOptions())
    if known.sparse and kept_as != VectorOptions():
        raise InputError(f"{place}: token weights have no vector options: leave them out.")
    if kept_as.precision not in precisions:
        raise InputError(f"{place} keeps no vectors as {kept_as.precision}; expected {', '.join(precisions)}.")
    if encoder != known:
        expected, got = label(known), label(encoder)
    elif options not in {None, kept_as}:
        expected, got = str(kept_as), str(options)
    else:
        return known, kept_as
    raise InputError(
        f"{place} has vectors of {expected}, got vectors of {got}. Add vectors of the same kind, or index the passages "
        "again with --replace."
    )
