"""Workers: processes of this machine or of a Ray cluster."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Literal

from convqa.errors import InputError
from convqa.workers.pool import WorkerLost, Workers

Executor = Literal["local", "processes", "ray"]

__all__ = ["Executor", "WorkerLost", "Workers", "start_workers"]


@contextmanager
def start_workers(executor: Executor, count: int | None = None) -> Iterator[Workers | None]:
    """Start the workers of an executor for the length of a block. ``local`` has None.

    :param count: the number of workers; None = one per processor.
    :raises InputError: for several local workers, or if Ray is not installed.
    """
    if executor == "local":
        if count not in {None, 1}:
            raise InputError(f"--workers {count}: needs --executor processes or ray.")
        yield None
        return
    if executor == "processes":
        from convqa.workers.processes import start
    else:
        if importlib.util.find_spec("ray") is None:
            raise InputError("the executor ray needs the package ray: pip install 'convqa[ray]'.")
        from convqa.workers.cluster import start
    with closing(start(count)) as workers:
        yield workers
