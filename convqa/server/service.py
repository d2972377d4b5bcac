"""A loaded pipeline that answers the questions of many users at once, gathered into batches."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from convqa.domain import Failure, Passage, Response, Turn
from convqa.domain.batches import Batch
from convqa.driver.waves import answer
from convqa.errors import InputError, RunError
from convqa.pipeline.load import Pipeline
from convqa.server.config import Batch as Gathering
from convqa.stores import key_of, open_store
from convqa.stores.address import redact

T = TypeVar("T")

log = logging.getLogger("convqa")

_AT_ONCE = 4
"""Batches at the same time of a pipeline that waits for a language model's server; any other has the processor busy."""


class Saturated(HTTPException):
    """More waits than a server may keep."""


@dataclass(slots=True, eq=False)
class Asked:
    """A turn on its way through a pipeline. ``stages`` hears of its rewrite and ranking, and of None at the end."""

    turn: Turn
    response: asyncio.Future[Response]
    stages: asyncio.Queue[tuple[str, Any] | None] = field(default_factory=asyncio.Queue)

    async def outputs(self) -> AsyncIterator[tuple[str, Any]]:
        """What was made for the turn, as it is made: ("rewrites", Rewrite), ("rankings", Ranking) ..."""
        while (made := await self.stages.get()) is not None:
            yield made


class Service:
    """One pipeline. Turns that wait together are answered together; each as it would be alone.

    :param told: is called after each batch with its responses, for metrics.
    """

    def __init__(
        self,
        name: str,
        pipeline: Pipeline,
        gathering: Gathering,
        waiting: int,
        told: Callable[[str, list[Response]], None],
    ) -> None:
        self.name = name
        self.pipeline = pipeline
        self.language = pipeline.language
        # As the stations do, it keeps to the collection as it was when it was opened.
        self.store = None if pipeline.collection is None else open_store(pipeline.collection)
        self._info = None if self.store is None else self.store.info()
        self.examples: list[str] = []
        self._gathering = gathering
        self._waiting = waiting
        self._told = told
        self._asked: asyncio.Queue[Asked] = asyncio.Queue()
        self._busy = 0
        self._pace = 0.05
        self._workers = _AT_ONCE if pipeline.asks_a_server else 1
        self._pool = ThreadPoolExecutor(self._workers, f"pipeline-{name}")
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def place(self) -> str:
        """Where its collection is, or the file that it was made of; "" where it has none."""
        url, info = self.pipeline.collection, self._info
        return "" if url is None or info is None else os.path.normpath(info.source or key_of(url))

    @property
    def description(self) -> dict[str, Any]:
        """What clients are shown of it. A collection is named by the last part of its URL alone."""
        url, info = self.pipeline.collection, self._info
        return {
            "id": self.name,
            "collection": None if info is None else PurePath((info.source or redact(url or "")).rstrip("/")).name,
            "passages": None if info is None else info.count,
            "language": self.language,
            "examples": self.examples,
        }

    def start(self) -> None:
        """Begin to answer, in the running loop."""
        self._tasks = [asyncio.create_task(self._work()) for _ in range(self._workers)]

    async def stop(self) -> None:
        """Answer what waits, then end."""
        while self._busy:
            await asyncio.sleep(0.01)
        for task in self._tasks:
            task.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def ask(self, turn: Turn) -> Asked:
        """Put a turn into the queue.

        :raises Saturated: if too many wait already.
        """
        self._enter()
        asked = Asked(turn, asyncio.get_running_loop().create_future())
        asked.response.add_done_callback(self._done)
        self._asked.put_nowait(asked)
        return asked

    async def do(self, work: Callable[[], T]) -> T:
        """Do other work with the pipeline, when it is free. :raises Saturated: if too many wait already."""
        self._enter()
        done = asyncio.get_running_loop().run_in_executor(self._pool, work)
        done.add_done_callback(self._done)
        return await asyncio.shield(done)

    def passage(self, id: str) -> Passage | None:
        """A passage of the pipeline's collection; None where there is none."""
        return None if self.store is None else self.store.fetch([id])[0]

    def _enter(self) -> None:
        if self._busy >= self._waiting:
            seconds = f"{max(1, math.ceil(self._busy * self._pace))}"
            said = f"The server has more questions than it can answer. Ask again in {seconds} s."
            raise Saturated(503, said, {"Retry-After": seconds})
        self._busy += 1

    def _done(self, response: asyncio.Future[Any]) -> None:  # noqa: ARG002 - the callback's signature
        self._busy -= 1

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        batch: list[Asked] = []
        while True:
            # Where the last batch had one turn there is one client: it would wait for nobody.
            pause = self._gathering.milliseconds / 1000 if len(batch) > 1 else 0
            batch = [await self._asked.get()]
            await asyncio.sleep(pause)
            while len(batch) < self._gathering.turns and not self._asked.empty():
                batch.append(self._asked.get_nowait())
            # Whoever went away needs no answer.
            batch = [asked for asked in batch if not asked.response.done()]
            if batch:
                start = time.perf_counter()
                await loop.run_in_executor(self._pool, self._answer, loop, batch)
                self._pace = 0.8 * self._pace + 0.2 * (time.perf_counter() - start) / len(batch)

    def _answer(self, loop: asyncio.AbstractEventLoop, batch: list[Asked]) -> None:
        """Answer a batch, in a thread of the pool. What stops the run is tried alone."""

        def tell(label: str, made: Batch) -> None:
            for asked, item in zip(batch, made.items, strict=True):
                if not isinstance(item, Failure):
                    loop.call_soon_threadsafe(asked.stages.put_nowait, (label, item))

        try:
            made = answer(self.pipeline, [asked.turn for asked in batch], tell)
        except (RunError, Exception) as error:
            if len(batch) > 1 and not (isinstance(error, RunError) and error.transient):
                for asked in batch:
                    self._answer(loop, [asked])
                return
            for asked in batch:
                loop.call_soon_threadsafe(_settle, asked, error)
            return
        loop.call_soon_threadsafe(self._told, self.name, made)
        for asked, response in zip(batch, made, strict=True):
            loop.call_soon_threadsafe(_settle, asked, response)


def _settle(asked: Asked, result: Response | BaseException) -> None:
    if not asked.response.done():
        if isinstance(result, Response):
            asked.response.set_result(result)
        else:
            asked.response.set_exception(_for_clients(result))
    asked.stages.put_nowait(None)


def _for_clients(error: BaseException) -> BaseException:
    """The error that stopped a run. Of a mistake only the log says the details, which may name paths of the server."""
    ordinary = error.ordinary() if isinstance(error, RunError) and not error.transient else error
    if isinstance(ordinary, InputError):
        log.warning("a question was refused: %s", ordinary)
        return HTTPException(422, "The pipeline cannot take this question, perhaps for its filter. The log says why.")
    return ordinary
