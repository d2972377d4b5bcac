"""Workers that are processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from typing import Any

from convqa.workers.pool import Function, Outcome, WorkerDied, Workers, perform
from convqa.workers.threads import cores

_HAS_FORKSERVER = "forkserver" in multiprocessing.get_all_start_methods()
"""Windows has none."""
CONTEXT: Any = multiprocessing.get_context("forkserver" if _HAS_FORKSERVER else "spawn")


def start(count: int | None) -> Workers:
    """Start processes that share the processors evenly, unless OMP_NUM_THREADS is set.

    :param count: the number of processes; None = one per processor.
    """
    count = count or cores()
    environment = {"OMP_NUM_THREADS": str(max(1, cores() // count)), **os.environ}
    CONTEXT.set_forkserver_preload(["convqa.driver.run"])  # workers share its memory
    unset = "OMP_NUM_THREADS" not in os.environ
    os.environ.update(environment)
    if _HAS_FORKSERVER:
        from multiprocessing.forkserver import ensure_running

        ensure_running()  # numpy reads the variable when the forkserver imports it for all workers
        if unset:
            del os.environ["OMP_NUM_THREADS"]
    return Workers(lambda: Process(environment), count)


class Process:
    """A process that calls functions one after another until its parent ends.

    :param environment: variables to add to the forkserver's environment.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._pipe, its = CONTEXT.Pipe()
        self._process = CONTEXT.Process(target=_serve, args=(its, environment), daemon=True)
        self._process.start()
        its.close()

    def perform(self, function: Function, arguments: tuple[Any, ...]) -> Outcome:
        try:
            self._pipe.send((function, arguments))
            outcome: Outcome = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join()
            code = self._process.exitcode
            memory = "; did it run out of memory?" if code == -9 else ""
            raise WorkerDied(f"process {self._process.pid} ended with code {code}{memory}") from error
        return outcome

    def close(self) -> None:
        self._process.kill()


def _serve(pipe: Connection, environment: Mapping[str, str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the whole group gets Ctrl-C, which the parent alone handles
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Slurm sends it to all; the parent ends its workers
    os.environ.update(environment)
    while True:
        try:
            pipe.send(perform(*pipe.recv()))
        except (EOFError, OSError):
            return


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
