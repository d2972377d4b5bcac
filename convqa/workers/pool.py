"""A pool of workers, each a process that does one task at a time."""

from __future__ import annotations

import logging
import logging.handlers
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import LifoQueue, SimpleQueue
from typing import Any, Protocol

from convqa.errors import ConvqaError, RunError, WorkError

logger = logging.getLogger("convqa")

Function = Callable[..., Any]
Outcome = tuple[Any, BaseException | None, list[logging.LogRecord]]
"""The result of a task, the error that it raised, and its log records."""

ATTEMPTS = 3
"""Maximum workers to try for a task if they die."""


class WorkerDied(Exception):
    """A worker's process ended during a task."""


class WorkerLost(RunError):
    """Several workers died of the same task."""


class Worker(Protocol):
    """A process that calls functions. ``close`` kills it."""

    def perform(self, function: Function, arguments: tuple[Any, ...]) -> Outcome:
        """Call :func:`perform` there. :raises WorkerDied: if the process ended."""

    def close(self) -> None: ...


_warned: set[str] = set()
"""Warnings of workers, each of which is logged once."""


class Workers:
    """Workers that start when first needed and are replaced when they die. A thread waits for each.

    :param start: starts a worker. :param end: called when all are closed.
    """

    def __init__(
        self,
        start: Callable[[], Worker],
        count: int,
        end: Callable[[], object] = lambda: None,
    ) -> None:
        self.count = count
        self._start = start
        self._end = end
        self._closed = False
        self._idle: LifoQueue[Worker | None] = LifoQueue()
        self._started: set[Worker] = set()
        for _ in range(count):
            self._idle.put(None)
        self._threads = ThreadPoolExecutor(count, "convqa-worker")

    def submit(self, work: Function, *arguments: Any) -> Future[Any]:
        """Call ``work`` in a thread of this process. There is one thread per worker."""
        return self._threads.submit(work, *arguments)

    def call(self, function: Function, *arguments: Any) -> Any:
        """Call a function in a worker and wait for its result. Function, arguments and result are pickled.

        :raises WorkerLost: if several workers die of it.
        """
        # The most recently idle worker has the most in its caches.
        worker = self._idle.get()
        died: WorkerDied | None = None
        try:
            for _ in range(ATTEMPTS):
                if worker is None:
                    worker = self._start()
                    self._started.add(worker)
                if self._closed:
                    worker.close()
                try:
                    result, failed, logged = worker.perform(function, arguments)
                except WorkerDied as error:
                    worker.close()
                    self._started.discard(worker)
                    worker, died = None, error
                    if not self._closed:
                        logger.warning("a worker died (%s).", error)
                    continue
                for record in logged:
                    if record.levelno < logging.WARNING or record.getMessage() not in _warned:
                        _warned.add(record.getMessage())
                        logger.handle(record)
                if failed is not None:
                    raise failed
                return result
            raise WorkerLost(f"{ATTEMPTS} workers died, the last one: {died}")
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        """Kill all workers, with their tasks."""
        self._closed = True
        for worker in list(self._started):
            worker.close()
        self._threads.shutdown(cancel_futures=True)
        self._end()


def perform(function: Function, arguments: tuple[Any, ...]) -> Outcome:
    """Call a function in a worker. Return its error as a value because Ray cannot transfer a RunError."""
    logged: SimpleQueue[logging.LogRecord] = SimpleQueue()
    # This handler makes records picklable.
    logger.handlers = [logging.handlers.QueueHandler(logged)]
    logger.propagate = False
    logger.setLevel(logging.DEBUG)
    result: Any = None
    failed: BaseException | None = None
    try:
        result = function(*arguments)
    except (ConvqaError, RunError) as error:
        failed = error
    except Exception as error:
        logger.debug("traceback of the error below", exc_info=True)
        failed = WorkError(f"unexpected, in a worker: {type(error).__name__}: {error}")
    return result, failed, [logged.get() for _ in range(logged.qsize())]
