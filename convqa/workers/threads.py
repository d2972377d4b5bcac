"""How many threads a process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """The processors given to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads() -> int:
    """``OMP_NUM_THREADS`` where it is set, as it is for each worker; else one for each processor."""
    named = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(named) if named.isdigit() and int(named) > 0 else cores()
