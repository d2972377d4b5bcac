"""The vectors' side of a transaction: rows go behind what is committed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.stores.base import Encoder, VectorOptions, told
from convqa.stores.embedded.files import Appender, array, write_array
from convqa.stores.embedded.graph import faiss
from convqa.stores.embedded.lookup import NUMBER
from convqa.stores.embedded.manifest import VectorState
from convqa.stores.embedded.search import Snapshot
from convqa.stores.embedded.vectors import MATRIX, PRECISIONS, ROW, ROWS, checked, dead_name

_BLOCK = 8192
_LARGEST_INT8 = 127


class VectorWriter:
    """Adds on top of ``base``. The folder's writer has the lock, and says when to commit."""

    def __init__(self, base: Snapshot) -> None:
        self._folder = base.folder
        self._data = base.data
        self._state: VectorState | None = None
        self._generation = base.manifest.vector_commits + 1
        if base.manifest.vectors is not None:
            self._begin(base.manifest.vectors)

    def _begin(self, state: VectorState) -> None:
        self._matrix = Appender(self._data, MATRIX, state.files)
        self._rows = Appender(self._data, ROWS, state.files)
        self._state = state

    def add(self, numbers: NDArray[Any], matrix: NDArray[Any], encoder: Encoder, options: VectorOptions | None) -> None:
        """Append the vectors of passages, by number.

        :raises InputError: for another encoder or other options than the first, or what cannot be stored.
        """
        self._refuse(encoder, options)
        values = checked(matrix, len(numbers), encoder, f"collection {self._folder}")
        state = self._state
        if state is None:
            first = options or VectorOptions()
            _check_options(first, self._folder)
            state = VectorState(encoder, first)
            self._begin(state)
        for start in range(0, len(numbers), _BLOCK):
            self._append(numbers[start : start + _BLOCK], values[start : start + _BLOCK], state.options.precision)

    def _append(self, numbers: NDArray[Any], values: NDArray[np.float32], precision: str) -> None:
        stored, scales = _stored(values, precision, self._folder)
        rows = np.empty(len(numbers), ROW)
        rows["number"], rows["scale"] = numbers, scales
        rows["norm"] = np.linalg.norm(stored.astype(np.float64), axis=1) * scales
        self._matrix.append(stored.tobytes())
        self._rows.append(rows.tobytes())

    def _refuse(self, encoder: Encoder, options: VectorOptions | None) -> None:
        state = self._state
        if state is None:
            return
        if encoder != state.encoder:
            kept, found = told(state.encoder), told(encoder)
        elif options not in {None, state.options}:
            kept, found = str(state.options), str(options)
        else:
            return
        raise InputError(
            f"collection {self._folder} has vectors of {kept}; found some of {found}. Add vectors like those, or index "
            "the passages anew with --replace."
        )

    def write(self, deleted: NDArray[Any]) -> VectorState | None:
        """Make the files last; returns the state that names them. No live row: no vectors.

        :param deleted: the numbers of all deleted passages.
        """
        state = self._state
        if state is None:
            return None
        files = self._matrix.sync() | self._rows.sync()
        live = _live(array(self._data, ROWS, ROW, files)["number"], deleted)
        if not live.any():
            return None
        files |= write_array(self._data, dead_name(self._generation), np.flatnonzero(~live).astype(NUMBER))
        return replace(state, generation=self._generation, count=int(np.count_nonzero(live)), files=files)

    def close(self) -> None:
        """End; what was not committed is dropped."""
        if self._state is not None:
            self._matrix.close()
            self._rows.close()


def _live(numbers: NDArray[Any], deleted: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows are the last of a passage that is there."""
    live = np.zeros(len(numbers), bool)
    _, last = np.unique(numbers[::-1], return_index=True)
    live[len(numbers) - 1 - last] = True
    return live & ~np.isin(numbers, deleted)


def _stored(values: NDArray[np.float32], precision: str, folder: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    """Vectors as they are written, and the scale of each."""
    ones = np.ones(len(values), np.float32)
    if precision == "int8":
        scales = (np.abs(values).max(axis=1) / _LARGEST_INT8).astype(np.float32)
        scales[scales == 0] = 1.0
        rounded = np.round(values / scales[:, None].astype(np.float64))
        return np.clip(rounded, -_LARGEST_INT8, _LARGEST_INT8).astype(np.int8), scales
    if np.abs(values).max(initial=0) > np.finfo(PRECISIONS[precision]).max:
        raise InputError(f"collection {folder}: a component is too large for {precision}; use float32 or int8.")
    return values.astype(PRECISIONS[precision]), ones


def _check_options(options: VectorOptions, folder: Path) -> None:
    """:raises InputError: for what this engine cannot keep or search."""
    if options.precision not in PRECISIONS:
        raise InputError(
            f"collection {folder}: this engine cannot keep vectors in precision {options.precision!r}; wanted: "
            f"{', '.join(PRECISIONS)}."
        )
    if options.index == "hnsw":
        faiss()
