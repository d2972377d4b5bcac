"""The number of threads that a process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """Return the number of processors of this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads() -> int:
    """Return ``OMP_NUM_THREADS``, which workers have, else the number of processors."""
    value = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if value.isdigit() and int(value) > 0:
        return int(value)
    return cores()
