"""Workers: other processes of this machine, or of a Ray cluster, that do pieces of the work."""

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
    """Start the workers of an executor and end them with the block; None for ``local``, which needs none.

    :param count: None = one for each processor.
    :raises InputError: for several local workers, or where Ray is not installed.
    """
    if executor == "local":
        if count not in {None, 1}:
            raise InputError(f"--workers {count}: give --executor processes or ray, which have workers.")
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
