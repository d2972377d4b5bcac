"""Workers that are actors of a Ray cluster."""

from __future__ import annotations

import logging
import os
import signal
import threading
from typing import Any

import ray
from ray.exceptions import OutOfMemoryError, RayActorError, RayError

from convqa.errors import InputError, RunError, reason_of
from convqa.workers.pool import Function, Outcome, WorkerDied, Workers, perform


def start(count: int | None) -> Workers:
    """Start workers in the cluster at RAY_ADDRESS, or in a temporary one on this machine.

    :param count: the number of workers; None = one per processor of the cluster.
    :raises InputError: if there is no cluster at the address, or it has too few processors.
    """
    handler = signal.getsignal(signal.SIGTERM)
    # Disables Ray's usage reports.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # a slow node raises a plain Exception
        raise InputError(
            f"Ray: no cluster ({reason_of(error)}). Expected in RAY_ADDRESS the address of one, such as "
            "ray://HOST:10001, with the same versions of Ray and Python; without it, one is started here."
        ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray replaces it
    processors = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    count = count or max(1, sum(processors))
    # The most processors per worker with which all workers fit, each on one machine.
    sizes = range(max(processors, default=0), 0, -1)
    each = next((size for size in sizes if sum(available // size for available in processors) >= count), 0)
    if not each:
        ray.shutdown()
        raise InputError(f"--workers {count}: the Ray cluster has {sum(processors)} processors; a worker needs one.")
    return Workers(lambda: Actor(each), count, ray.shutdown)


class Actor:
    """A worker started by Ray. :param processors: the processors to reserve, which also limit its threads."""

    def __init__(self, processors: int) -> None:
        self._actor: Any = ray.remote(num_cpus=processors)(_Performer).remote()

    def perform(self, function: Function, arguments: tuple[Any, ...]) -> Outcome:
        try:
            outcome: Outcome = ray.get(self._actor.perform.remote(function, arguments))
        except (RayActorError, OutOfMemoryError) as error:
            raise WorkerDied(" ".join(str(error).split())[:500]) from error
        except RayError as error:
            raise RunError(f"Ray failed: {reason_of(error)}") from error
        return outcome

    def close(self) -> None:
        ray.kill(self._actor)


class _Performer:
    """The class of the actor."""

    def perform(self, function: Function, arguments: tuple[Any, ...]) -> Outcome:
        return perform(function, arguments)
