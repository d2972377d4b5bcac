"""Ways to do the same work, timed side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def rates(ways: Mapping[str, Callable[[], int]], rounds: int) -> dict[str, float]:
    """Items/s of each way, of its best round; a way returns how many items it did.

    Each way is done once uncounted, then in turns with the others, so that what else the machine does hits all alike;
    the best round counts, as other work makes one slower, never faster.
    """
    found = dict.fromkeys(ways, 0.0)
    for work in ways.values():
        work()
    for _ in range(rounds):
        for way, work in ways.items():
            start = time.perf_counter()
            items = work()
            found[way] = max(found[way], items / (time.perf_counter() - start))
    return found
