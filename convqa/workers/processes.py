"""Workers that are processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing import forkserver, parent_process
from multiprocessing.connection import Connection
from typing import Any

from convqa.workers.pool import Outcome, WorkerDied, logging_level, perform

_PRELOADED = ["convqa.driver.run"]
"""Imported once, by the server that workers are forked from, and shared by their memory."""


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Process:
    """A process that performs functions, one after the other, until its parent is gone.

    :param threads: that its models and matrix products may use.
    """

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOADED)
        _start_server(threads)
        self._pipe, its = context.Pipe()
        self._process = context.Process(target=_serve, args=(its, threads), daemon=True)
        self._process.start()
        its.close()

    def perform(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
        try:
            self._pipe.send((function, arguments, logging_level()))
            outcome: Outcome = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join()
            memory = "; was there memory enough?" if self._process.exitcode == -signal.SIGKILL else ""
            raise WorkerDied(f"process {self._process.pid} ended with code {self._process.exitcode}{memory}") from error
        return outcome

    def close(self) -> None:
        self._process.kill()


_STARTING = threading.Lock()


def _start_server(threads: int) -> None:
    """Start the server that processes are forked from, with the environment that numpy reads when it is imported."""
    with _STARTING:
        before = os.environ.get("OMP_NUM_THREADS")
        os.environ["OMP_NUM_THREADS"] = str(threads)
        try:
            forkserver.ensure_running()
        finally:
            del os.environ["OMP_NUM_THREADS"]
            if before is not None:
                os.environ["OMP_NUM_THREADS"] = before


def _serve(pipe: Connection, threads: int) -> None:
    be_child()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Slurm sends it to all: the parent ends its workers
    os.environ["OMP_NUM_THREADS"] = str(threads)
    while True:
        try:
            pipe.send(perform(*pipe.recv()))
        except (EOFError, OSError):
            return


def be_child() -> None:
    """Let this process live as long as its parent: Ctrl-C is the parent's, and its death ends this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it goes to the whole group; the parent ends this process
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
