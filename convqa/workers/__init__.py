"""Work that is given to other processes: of this machine, or of a Ray cluster."""

from __future__ import annotations

import importlib.util
import os
from typing import Literal

from convqa.errors import InputError
from convqa.workers.pool import WorkerLost, Workers

Executor = Literal["local", "processes", "ray"]

__all__ = ["Executor", "WorkerLost", "Workers", "start_workers"]


def start_workers(executor: Executor, count: int | None = None, ray_address: str | None = None) -> Workers | None:
    """The workers of an executor; None for ``local``, which works in this process.

    :param count: how many; None = one for each processor.
    :param ray_address: of a Ray cluster; None = the one that Ray itself knows of, or a new one on this machine.
    :raises InputError: for options that the executor does not take, or without Ray.
    """
    if ray_address is not None and executor != "ray":
        raise InputError("--ray-address is the address of a Ray cluster: give --executor ray too.")
    if executor == "local":
        if count not in {None, 1}:
            raise InputError(f"--workers {count}: the executor is this process. Give --executor processes or ray.")
        return None
    if executor == "processes":
        from convqa.workers.processes import Process, cores

        count = count or cores()
        threads = max(1, cores() // count)
        return Workers(lambda: Process(threads), count)
    if importlib.util.find_spec("ray") is None:
        raise InputError("the executor ray needs the package ray: pip install 'convqa[ray]'.")
    # Ray would report to its makers that it is used.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    from convqa.workers.cluster import workers_of_ray

    return workers_of_ray(count, ray_address)
