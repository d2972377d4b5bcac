"""The order of scored passages in trec_eval, and in every official ranking measure."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_float


def ranked(scores: Mapping[str, float]) -> list[str]:
    """Sort ids by score (a 32-bit float in C) descending, ties by id (bytes) descending.

    >>> ranked({"u_p10": 1.0, "u_p9": 1.0, "a": 15.0000002, "b": 15.0000001})
    ['b', 'a', 'u_p9', 'u_p10']
    """
    # Strings compare like their bytes, since UTF-8 keeps the order of code points.
    return [id for _, id in sorted(((c_float(score).value, id) for id, score in scores.items()), reverse=True)]
