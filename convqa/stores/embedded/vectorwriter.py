"""The vectors' side of a transaction: rows go behind what is committed; too many dead ones are left out at a commit."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.stores.base import Encoder, VectorOptions
from convqa.stores.embedded.files import Appender, array, write_array
from convqa.stores.embedded.graph import faiss
from convqa.stores.embedded.lookup import NUMBER
from convqa.stores.embedded.manifest import Manifest, VectorState
from convqa.stores.embedded.vectors import PRECISIONS, ROW, checked, names

_BLOCK = 8192
_MOST_DEAD = 0.5
_LARGEST_INT8 = 127


class VectorWriter:
    """Adds on top of what ``base`` names. The folder's writer has the lock, and says when to commit."""

    def __init__(self, folder: Path, base: Manifest) -> None:
        self._folder = folder
        self._state: VectorState | None = None
        self._fresh = blake2b(digest_size=8)
        if base.vectors is not None:
            self._begin(replace(base.vectors, generation=base.vectors.generation + 1), base.files)

    def _begin(self, state: VectorState, sizes: dict[str, int]) -> None:
        matrix, rows, _ = names(state)
        self._matrix = Appender(self._folder / matrix, sizes.get(matrix, 0))
        self._rows = Appender(self._folder / rows, sizes.get(rows, 0))
        self._state = state
        self._fresh.update(state.digest.encode())

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
            state = VectorState(encoder, first, generation=1, epoch=1, rows=0, count=0, digest="")
            self._begin(state, {})
        for start in range(0, len(numbers), _BLOCK):
            self._append(numbers[start : start + _BLOCK], values[start : start + _BLOCK], state.options.precision)

    def _append(self, numbers: NDArray[Any], values: NDArray[np.float32], precision: str) -> None:
        stored, scales = _stored(values, precision, self._folder)
        rows = np.empty(len(numbers), ROW)
        rows["number"], rows["scale"] = numbers, scales
        rows["norm"] = np.linalg.norm(stored.astype(np.float64), axis=1) * scales
        for file, data in ((self._matrix, stored.tobytes()), (self._rows, rows.tobytes())):
            self._fresh.update(data)
            file.append(data)

    def _refuse(self, encoder: Encoder, options: VectorOptions | None) -> None:
        state = self._state
        if state is None:
            return
        for found, kept in ((encoder, state.encoder), (options, state.options)):
            if found is not None and found != kept:
                raise InputError(
                    f"collection {self._folder} has vectors of {_told(kept)}; found some of {_told(found)}. Add "
                    "vectors like those, or index the passages anew with --replace."
                )

    def write(self, deleted: NDArray[Any]) -> tuple[VectorState | None, dict[str, int]]:
        """Make the files last; returns the state and its files with their sizes. No live row: no vectors.

        :param deleted: the numbers of all deleted passages.
        """
        state = self._state
        if state is None:
            return None, {}
        self._matrix.sync()
        self._rows.sync()
        matrix, rows, _ = names(state)
        kept = array(self._folder / rows, ROW, self._rows.size)
        live = _live(kept["number"], deleted)
        if not live.any():
            return None, {}
        sizes = {matrix: self._matrix.size, rows: self._rows.size}
        dead = np.flatnonzero(~live).astype(NUMBER)
        if len(dead) > _MOST_DEAD * len(kept):
            state, sizes = self._compact(state, kept, np.flatnonzero(live))
            dead = dead[:0]
        count = int(np.count_nonzero(live))
        self._fresh.update(dead.tobytes())
        state = replace(state, rows=count + len(dead), count=count, digest=self._fresh.hexdigest())
        name = names(state)[2]
        return state, {**sizes, name: write_array(self._folder / name, dead)}

    def _compact(
        self, state: VectorState, kept: NDArray[Any], live: NDArray[np.int64]
    ) -> tuple[VectorState, dict[str, int]]:
        """The live rows as files of a new epoch."""
        dtype = PRECISIONS[state.options.precision]
        old = array(self._folder / names(state)[0], dtype, self._matrix.size).reshape(-1, state.encoder.dimension)
        state = replace(state, epoch=state.generation)
        matrix, rows, _ = names(state)
        file = Appender(self._folder / matrix, 0)
        for start in range(0, len(live), _BLOCK):
            file.append(old[live[start : start + _BLOCK]].tobytes())
        file.sync()
        file.close()
        return state, {matrix: file.size, rows: write_array(self._folder / rows, kept[live])}

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


def _told(value: object) -> str:
    if isinstance(value, Encoder):
        return f"{value.name} ({value.dimension} dimensions, checksum {value.checksum[:12]})"
    return str(value).removeprefix("VectorOptions")


def _check_options(options: VectorOptions, folder: Path) -> None:
    """:raises InputError: for what this engine cannot keep or search."""
    if options.precision not in PRECISIONS:
        raise InputError(
            f"collection {folder}: this engine cannot keep vectors in precision {options.precision!r}; wanted: "
            f"{', '.join(PRECISIONS)}."
        )
    if options.index == "hnsw":
        faiss()
