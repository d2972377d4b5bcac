"""Approximate search by faiss's HNSW graph (Malkov and Yashunin 2018), whose candidates are scored again exactly.

The graph is derived from the vectors: made at the first search after they changed, saved beside them where the folder
can be written, and made anew where its file is missing or cannot be read. It keeps components in 8 bits: a third of the
size, and the same recall after the second scoring. faiss makes the same graph of the same vectors, on any number of
threads.
"""

from __future__ import annotations

import logging
import os
import threading
import uuid
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from convqa.errors import InputError
from convqa.stores.base import Floats, Integers

logger = logging.getLogger(__name__)

_NEIGHBOURS = 16
_WIDTH_BUILDING = 80
_WIDTH_SEARCHING = 400
"""Or eight times as many as are asked for. Recall and speed: docs/benchmarks.md."""
_BLOCK = 8192
_SAMPLE = 20_000
"""Vectors from which the range of each component is learned."""

Values = Callable[[Integers], Floats]
"""Rows -> their vectors."""


def faiss() -> Any:
    """The module; an ``InputError`` says how to install it."""
    try:
        with warnings.catch_warnings():
            # Of its wrapper's types, on Python 3.12 and later.
            warnings.simplefilter("ignore", DeprecationWarning)
            import faiss as module
    except ImportError as error:
        raise InputError(
            f"vectors with index hnsw need faiss, which cannot be imported ({error}). Install it with: "
            "pip install 'convqa[faiss]', or make the vectors with index exact."
        ) from error
    return module


class Graph:
    """The graph of one state of the vectors, in the file ``path``. Shared by threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._index: Any = None

    def candidates(self, queries: Floats, k: int, live: Integers, values: Values) -> list[Integers]:
        """Return for each query rows that are likely to be its best.

        :param live: the current rows.
        :raises InputError: without faiss.
        """
        module = faiss()
        with self._lock:
            if self._index is None:
                self._index = self._read(module, len(live)) or self._made(module, live, values)
        width = max(_WIDTH_SEARCHING, 8 * k)
        # More than k: the graph's own products are of components in 8 bits.
        wanted = min(2 * k + 50, len(live))
        _, found = self._index.search(queries, wanted, params=module.SearchParametersHNSW(efSearch=width))
        return [live[np.sort(places[places >= 0])] for places in found]

    def _read(self, module: Any, count: int) -> Any:
        if not self._path.exists():
            return None
        try:
            index = module.read_index(str(self._path))
        except RuntimeError as error:
            logger.warning("%s cannot be read and is made anew: %s", self._path, str(error).splitlines()[-1])
            return None
        return index if index.ntotal == count else None

    def _made(self, module: Any, live: Integers, values: Values) -> Any:
        logger.info("making the graph of %d vectors", len(live))
        sample = values(live[:: max(1, len(live) // _SAMPLE)])
        kind = module.ScalarQuantizer.QT_8bit
        index = module.IndexHNSWSQ(sample.shape[1], kind, _NEIGHBOURS, module.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = _WIDTH_BUILDING
        index.train(sample)
        for start in range(0, len(live), _BLOCK):
            index.add(values(live[start : start + _BLOCK]))
        aside = self._path.with_name(f"{self._path.name}.{uuid.uuid4().hex[:12]}")
        try:
            module.write_index(index, str(aside))
            os.replace(aside, self._path)
        except (OSError, RuntimeError) as error:
            logger.warning(
                "%s cannot be saved and is made in every process: %s", self._path, str(error).splitlines()[-1]
            )
            with suppress(OSError):
                aside.unlink(missing_ok=True)
        return index
