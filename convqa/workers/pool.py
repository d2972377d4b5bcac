"""A fixed number of workers, each a process that does one piece of work at a time."""

from __future__ import annotations

import logging
import logging.handlers
import pickle
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import LifoQueue, SimpleQueue
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from convqa.errors import ConvqaError, RunError, WorkError

logger = logging.getLogger("convqa")

ATTEMPTS = 3
"""How often a piece of work is given to a worker before it is taken for the reason that workers die."""


class WorkerDied(Exception):
    """A worker's process ended in the middle of its work."""


class WorkerLost(RunError):
    """Several workers died of the same piece of work."""


class Outcome(NamedTuple):
    """The result of a piece of work, or the error that it raised, and what was logged meanwhile."""

    result: Any
    error: BaseException | None
    logged: list[logging.LogRecord]


class Worker(Protocol):
    """A process that performs functions."""

    def perform(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
        """:func:`perform` in the worker's process.

        :raises WorkerDied: if the process ended meanwhile.
        """

    def close(self) -> None:
        """End the process at once."""


class Workers:
    """Workers that are started when they are first needed, and replaced when they die.

    A thread of this process waits for each, so that several pieces of work are under way at a time.

    :param start: starts a worker.
    :param end: is called when the last worker has been closed.
    """

    def __init__(self, start: Callable[[], Worker], count: int, end: Callable[[], None] = lambda: None) -> None:
        self.count = count
        self._start, self._end = start, end
        self._closed = False
        # The last that became idle goes on: what it has in memory is of the same conversations.
        self._idle: LifoQueue[Worker | None] = LifoQueue()
        self._started: set[Worker] = set()
        self._warned: set[str] = set()
        for _ in range(count):
            self._idle.put(None)
        self._threads = ThreadPoolExecutor(count, "convqa-worker")

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call ``work`` in a thread of this process, one of as many as there are workers."""
        return self._threads.submit(work, *arguments)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in a worker, and wait for its result. Function, arguments and result are pickled.

        :raises WorkerLost: if worker after worker dies of it.
        """
        worker = self._idle.get()
        died: WorkerDied | None = None
        try:
            for _ in range(ATTEMPTS):
                if died is not None:
                    logger.warning("a worker died (%s); another does its work.", died)
                if worker is None:
                    worker = self._start()
                    self._started.add(worker)
                if self._closed:
                    worker.close()
                try:
                    return self._result(worker.perform(function, arguments))
                except WorkerDied as error:
                    self._started.discard(worker)
                    worker.close()
                    worker, died = None, error
                    if self._closed:
                        break
            raise WorkerLost(f"{ATTEMPTS} workers died of it, the last so: {died}")
        finally:
            self._idle.put(worker)

    def _result(self, outcome: Outcome) -> Any:
        for record in outcome.logged:
            # Each worker warns of what all of them meet.
            if record.levelno < logging.WARNING or record.getMessage() not in self._warned:
                self._warned.add(record.getMessage())
                logger.handle(record)
        if outcome.error is not None:
            raise outcome.error
        return outcome.result

    def close(self) -> None:
        """End all workers; what they are doing is lost."""
        self._closed = True
        for worker in list(self._started):
            worker.close()
        self._threads.shutdown(cancel_futures=True)
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def logging_level() -> int:
    """The lowest level that this process shows of what convqa logs."""
    return max(logger.getEffectiveLevel(), min((handler.level for handler in logger.handlers), default=logging.WARNING))


def perform(function: Callable[..., Any], arguments: tuple[Any, ...], level: int) -> Outcome:
    """Call a function in a worker; its errors become values, as not every carrier brings exceptions.

    :param level: of what is logged and brought back.
    """
    logged: SimpleQueue[logging.LogRecord] = SimpleQueue()
    handler = logging.handlers.QueueHandler(logged)  # which puts records into a form that can be sent
    handler.setLevel(level)
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(level)
    result: Any = None
    failed: BaseException | None = None
    try:
        result = function(*arguments)
    except (ConvqaError, RunError) as error:
        failed = _portable(error)
    except Exception as error:
        logger.debug("the traceback of the error below", exc_info=True)
        failed = WorkError(f"unexpected, in a worker: {type(error).__name__}: {error}")
    return Outcome(result, failed, [logged.get() for _ in range(logged.qsize())])


def _portable(error: ConvqaError | RunError) -> BaseException:
    """The error; one that cannot be sent becomes the nearest that can."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RunError(str(error)) if isinstance(error, RunError) else WorkError(str(error))
    return error
