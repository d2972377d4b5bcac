"""What of a search's parameters an index cannot honour, and what to do then."""

from __future__ import annotations

import math

from convqa.errors import InputError
from convqa.stores.base import Info, SearchParams, refuse_unknown


def refuse(params: SearchParams, info: Info, place: str, changeable: bool = False) -> None:
    """Raise for the first parameter that is asked for and that an index cannot honour.

    :param changeable: whether its k1 and b are convqa's to change.
    :raises InputError: for k1 or b, which every pipeline gives, it says how to search with those of the index.
    """
    for name, value, fixed in (("k1", params.k1, info.k1), ("b", params.b, info.b)):
        if value is None or fixed is None or math.isclose(value, fixed, rel_tol=1e-6):
            continue
        other = " or change the index: convqa collections set URL --k1 K1 --b B --yes." if changeable else ""
        raise InputError(
            f"{place} was made with k1={info.k1!r} and b={info.b!r} and cannot search with {name}={value!r}. Search "
            f"with its own: --set retriever.k1=null --set retriever.b=null{',' if other else '.'}{other}"
        )
    if info.k1 is None and (params.k1 is not None or params.b is not None):
        raise InputError(
            f"{place} is not scored by BM25, so that k1 and b mean nothing; found k1={params.k1!r}, b={params.b!r}. "
            "Leave them out: --set retriever.k1=null --set retriever.b=null."
        )
    refuse_unknown(params, info, place)
