"""What the checks of every task's runs say of ids: how many there are, and the first of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_SHOWN = 10


def id_problems(what: str, ids: Sequence[object], total: int) -> Iterator[str]:
    """One message about ids, or none where there are none.

    >>> list(id_problems("turns are missing", [3, 7], 9)), list(id_problems("turns are missing", [], 9))
    (['2 of 9 turns are missing: 3, 7'], [])
    """
    if ids:
        more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
        yield f"{len(ids)} of {total} {what}: {', '.join(map(str, ids[:_SHOWN]))}{more}"
