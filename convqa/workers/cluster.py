"""Workers that are actors of a Ray cluster: Ray starts them where there is room."""

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

logger = logging.getLogger(__name__)

_PATIENCE = 60.0
"""Seconds to wait for room in the cluster before a warning says so."""


def start(count: int | None) -> Workers:
    """Start workers in the cluster at RAY_ADDRESS, or in a new one on this machine that ends with them.

    :param count: None = one for each processor of the cluster.
    :raises InputError: if there is no cluster at the address, or too few processors in it.
    """
    handler = signal.getsignal(signal.SIGTERM)
    # Ray would report to its makers that it is used.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # a node that is too slow to start raises no narrower one
        raise InputError(
            f"Ray: no cluster ({reason_of(error)}). Wanted in RAY_ADDRESS: the address of one, such as "
            "ray://HOST:10001, with the same versions of Ray and Python; or none, to start one here."
        ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray puts its own in place
    processors = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    count = count or max(1, sum(processors))
    # A worker lives on one machine.
    sizes = range(max(processors, default=0), 0, -1)
    each = next((size for size in sizes if sum(known // size for known in processors) >= count), 0)
    if not each:
        ray.shutdown()
        raise InputError(f"--workers {count}: the Ray cluster has {sum(processors)} processors; a worker needs one.")
    return Workers(lambda: Actor(each), count, ray.shutdown)


class Actor:
    """A worker that Ray starts. :param processors: how many it takes of its machine, and how many threads it uses."""

    def __init__(self, processors: int) -> None:
        self._actor: Any = ray.remote(num_cpus=processors)(_Performer).remote()
        if not ray.wait([self._actor.ready.remote()], timeout=_PATIENCE)[0]:
            logger.warning(
                "a worker has waited %.0f s for %d free processors of the Ray cluster, and goes on waiting (ray status "
                "shows who has them).", _PATIENCE, processors,
            )  # fmt: skip

    def perform(self, function: Function, arguments: tuple[Any, ...]) -> Outcome:
        try:
            outcome: Outcome = ray.get(self._actor.perform.remote(function, arguments))
        except (RayActorError, OutOfMemoryError) as error:
            raise WorkerDied(" ".join(str(error).split())[:500]) from error
        except RayError as error:
            raise RunError(f"Ray cannot do the work: {reason_of(error)}") from error
        return outcome

    def close(self) -> None:
        ray.kill(self._actor)


class _Performer:
    """The actor's class."""

    def ready(self) -> None:
        """Return once the actor runs."""

    def perform(self, function: Function, arguments: tuple[Any, ...]) -> Outcome:
        return perform(function, arguments)
