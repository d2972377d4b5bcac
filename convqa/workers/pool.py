"""A fixed number of workers, each a process that does one piece of work at a time."""

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
"""The result of a piece of work, or the error that it raised, and what was logged meanwhile."""

ATTEMPTS = 3
"""Workers that may die of the same piece of work before it is given up."""


class WorkerDied(Exception):
    """A worker's process ended in the middle of its work."""


class WorkerLost(RunError):
    """Worker after worker died of the same piece of work."""


class Worker(Protocol):
    """A process that performs functions; ``close`` ends it at once."""

    def perform(self, function: Function, arguments: tuple[Any, ...]) -> Outcome:
        """:func:`perform` there. :raises WorkerDied: if the process ended meanwhile."""

    def close(self) -> None: ...


class Workers:
    """Workers that start when they are first needed and are replaced when they die; a thread waits for each.

    :param start: starts a worker. :param end: is called when all are closed.
    """

    def __init__(self, start: Callable[[], Worker], count: int, end: Callable[[], object] = lambda: None) -> None:
        self.count = count
        self._start, self._end, self._closed = start, end, False
        self._idle: LifoQueue[Worker | None] = LifoQueue()
        self._started: set[Worker] = set()
        self._warned: set[str] = set()
        for _ in range(count):
            self._idle.put(None)
        self._threads = ThreadPoolExecutor(count, "convqa-worker")

    def submit(self, work: Function, *arguments: Any) -> Future[Any]:
        """Call ``work`` in a thread of this process, one of as many as there are workers."""
        return self._threads.submit(work, *arguments)

    def call(self, function: Function, *arguments: Any) -> Any:
        """Call a function in a worker, and wait for its result. All of it is pickled.

        :raises WorkerLost: if worker after worker dies of it.
        """
        # The worker that became idle last has the most in memory that this piece of work needs.
        worker = self._idle.get()
        died: WorkerDied | None = None
        try:
            for _ in range(ATTEMPTS):
                if died is not None and not self._closed:
                    logger.warning("a worker died (%s); another does its work.", died)
                if worker is None:
                    worker = self._start()
                    self._started.add(worker)
                if self._closed:
                    worker.close()
                try:
                    return self._result(*worker.perform(function, arguments))
                except WorkerDied as error:
                    worker.close()
                    self._started.discard(worker)
                    worker, died = None, error
            raise WorkerLost(f"{ATTEMPTS} workers died of it, the last so: {died}")
        finally:
            self._idle.put(worker)

    def _result(self, result: Any, error: BaseException | None, logged: list[logging.LogRecord]) -> Any:
        for record in logged:
            # Each worker warns of what all of them meet.
            if record.levelno < logging.WARNING or record.getMessage() not in self._warned:
                self._warned.add(record.getMessage())
                logger.handle(record)
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """End all workers; what they are doing is lost."""
        self._closed = True
        for worker in list(self._started):
            worker.close()
        self._threads.shutdown(cancel_futures=True)
        self._end()


def perform(function: Function, arguments: tuple[Any, ...]) -> Outcome:
    """Call a function in a worker; its errors become values, as Ray carries no RunError."""
    logged: SimpleQueue[logging.LogRecord] = SimpleQueue()
    # This handler puts records into a form that can be sent.
    logger.handlers, logger.propagate = [logging.handlers.QueueHandler(logged)], False
    logger.setLevel(logging.DEBUG)
    result: Any = None
    failed: BaseException | None = None
    try:
        result = function(*arguments)
    except (ConvqaError, RunError) as error:
        failed = error
    except Exception as error:
        logger.debug("the traceback of the error below", exc_info=True)
        failed = WorkError(f"unexpected, in a worker: {type(error).__name__}: {error}")
    return result, failed, [logged.get() for _ in range(logged.qsize())]
