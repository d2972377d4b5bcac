"""Workers that are actors of a Ray cluster; Ray brings the work to them, and starts them where there is room."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.exceptions import OutOfMemoryError, RayActorError, RayError

from convqa.errors import InputError, RunError, reason_of
from convqa.workers.pool import Outcome, WorkerDied, Workers, logging_level, perform

logger = logging.getLogger(__name__)

_PATIENCE = 60.0
"""Seconds after which somebody who waits for a place in the cluster is told so."""


def workers_of_ray(count: int | None, address: str | None) -> Workers:
    """Workers of a cluster, which is connected to, or started on this machine and ended with the workers.

    :param count: how many; None = one for each processor of the cluster.
    :raises InputError: if there is no cluster at the address, or no room in it for so many workers.
    """
    ours = not ray.is_initialized()
    if ours:
        _connect(address)
    processors = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
    count = count or max(1, sum(processors))
    each = processors_of_each(processors, count)
    if not each:
        raise InputError(
            f"--workers {count}: the Ray cluster has {sum(processors)} processors, and each worker needs one."
        )
    return Workers(lambda: Actor(each), count, ray.shutdown if ours else lambda: None)


def processors_of_each(processors: Sequence[int], count: int) -> int:
    """The most processors that each of ``count`` workers can have, which live on one machine each; 0 for too many.

    >>> processors_of_each([8, 8], 1), processors_of_each([8, 8], 3), processors_of_each([2], 4)
    (8, 4, 0)
    """
    fitting = (each for each in range(max(processors, default=0), 0, -1) if _room(processors, each) >= count)
    return next(fitting, 0)


def _room(processors: Sequence[int], each: int) -> int:
    return sum(known // each for known in processors)


def _connect(address: str | None) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=None if address else False
        )
    except (ConnectionError, RayError, ValueError, RuntimeError) as error:
        where = f"--ray-address {address}" if address else "Ray"
        raise InputError(
            f"{where}: cannot be connected to ({reason_of(error)}). Wanted: the address of a Ray cluster that runs, "
            "such as ray://HOST:10001, of the same versions of Ray and Python."
        ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)  # Ray puts its own in place


class Actor:
    """A worker that Ray starts. :param processors: of its machine that it takes, and as many threads."""

    def __init__(self, processors: int) -> None:
        self._actor: Any = ray.remote(num_cpus=processors)(_Performing).remote()
        self._processors = processors
        self._waited = False

    def perform(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
        try:
            work = self._actor.perform.remote(function, arguments, logging_level())
            if not self._waited and not ray.wait([self._actor.ready.remote()], timeout=_PATIENCE)[0]:
                logger.warning(
                    "a worker has waited %.0f s for %d free processors of the Ray cluster, and goes on waiting (ray "
                    "status shows who has them).", _PATIENCE, self._processors,
                )  # fmt: skip
            self._waited = True
            outcome: Outcome = ray.get(work)
        except (RayActorError, OutOfMemoryError) as error:
            raise WorkerDied(" ".join(str(error).split())[:500]) from error
        except RayError as error:
            raise RunError(f"Ray cannot do the work: {reason_of(error)}") from error
        return outcome

    def close(self) -> None:
        if ray.is_initialized():
            ray.kill(self._actor)


class _Performing:
    """The actor itself."""

    def ready(self) -> None:
        """Return as soon as the actor lives."""

    def perform(self, *work: Any) -> Outcome:
        return perform(*work)
