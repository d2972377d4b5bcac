"""The order in which trec_eval, and with it every official ranking measure, sees scored passages."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import c_float


def ranked(scores: Mapping[str, float]) -> list[str]:
    """Ids by score (as C's 32-bit floats) descending, ties by id (bytes) descending; the mapping's order is moot.

    >>> ranked({"u_p10": 1.0, "u_p9": 1.0, "a": 15.0000002, "b": 15.0000001})
    ['b', 'a', 'u_p9', 'u_p10']
    """
    # UTF-8 keeps the order of code points, so comparing strings equals comparing their bytes.
    return [id for _, id in sorted(((c_float(score).value, id) for id, score in scores.items()), reverse=True)]
