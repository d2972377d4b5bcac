"""A loaded pipeline that answers questions of concurrent users in batches."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from convqa.components.encoding import ModelOptions
from convqa.domain import Failure, Passage, Response, Turn
from convqa.domain.batches import Batch
from convqa.driver.waves import answer
from convqa.errors import InputError, RunError
from convqa.pipeline.build import build
from convqa.pipeline.pipeline import Pipeline
from convqa.qa import ready
from convqa.server.config import ServerConfig
from convqa.stores import open_store
from convqa.stores.address import name_of
from convqa.stores.base import Store
from convqa.workers.stopping import until

T = TypeVar("T")

log = logging.getLogger("convqa")

FOLLOW_SECONDS = 2.0
"""Time between looks for a new version of the collection."""

RETRY = {"Retry-After": "5"}
"""The header that says after how many seconds clients may try again."""

_LLM_WORKERS = 4
"""Concurrent batches of a pipeline that waits for a language model's server. Other pipelines are bound by the CPU."""


@dataclass(slots=True, eq=False)
class PendingTurn:
    """A turn on its way through a pipeline. ``stages`` receives its outputs, and None at the end."""

    turn: Turn
    response: asyncio.Future[Response]
    stages: asyncio.Queue[tuple[str, Any] | None] = field(default_factory=asyncio.Queue)

    async def outputs(self) -> AsyncIterator[tuple[str, Any]]:
        """Yield the outputs of the stations as they arrive: ("rewrites", Rewrite), ("rankings", Ranking) ..."""
        output = await self.stages.get()
        while output is not None:
            yield output
            output = await self.stages.get()


class Service:
    """One pipeline. Waiting turns are answered in a batch, each as it would be alone.

    A new version of the collection is taken up between batches.

    :param config: the server's settings, which name the pipeline.
    :param options: how the pipeline's models run, where it does not say.
    """

    def __init__(
        self,
        name: str,
        pipeline: Pipeline,
        config: ServerConfig,
        options: ModelOptions | None = None,
    ) -> None:
        self.name = name
        self.language = pipeline.language
        self.served = config.pipelines[name]
        self._options = options
        self._use(pipeline, None if pipeline.collection is None else open_store(pipeline.collection))
        self._batch = config.batch
        self._max_waiting = config.limits.waiting
        self._queue: asyncio.Queue[PendingTurn] = asyncio.Queue()
        self._busy = 0
        self._workers = _LLM_WORKERS if pipeline.asks_a_server else 1
        self._pool = ThreadPoolExecutor(self._workers, f"pipeline-{name}")
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def description(self) -> dict[str, Any]:
        """The description for clients, which names only the last part of the collection's URL."""
        info = self._info
        return {
            "id": self.name,
            "collection": info and name_of(self.pipeline.collection or "", info.source),
            "passages": info and info.count,
            "language": self.language,
            **self.served.model_dump(include={"title", "about", "examples"}),
            "documents": self.has_documents,
        }

    def start(self) -> None:
        """Start answering in the running loop."""
        self._tasks = [asyncio.create_task(self._work()) for _ in range(self._workers)]
        if self.store is not None:
            self._tasks.append(asyncio.create_task(self._follow()))

    async def stop(self) -> None:
        """Answer the waiting turns, then stop."""
        while self._busy:
            await asyncio.sleep(0.01)
        for task in self._tasks:
            task.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def ask(self, turn: Turn) -> PendingTurn:
        """Queue a turn.

        :raises HTTPException: 503 if too many questions are waiting.
        """
        self._enter()
        pending = PendingTurn(turn, asyncio.get_running_loop().create_future())
        pending.response.add_done_callback(self._done)
        self._queue.put_nowait(pending)
        return pending

    async def do(self, work: Callable[[], T]) -> T:
        """Run other work with the pipeline once it is free. It stops soon after the caller is cancelled.

        :raises HTTPException: 503 if too many questions are waiting.
        """
        self._enter()
        is_left = threading.Event()

        def work_until_left() -> T:
            with until(is_left.is_set):
                return work()

        done = asyncio.get_running_loop().run_in_executor(self._pool, work_until_left)
        done.add_done_callback(self._done)
        try:
            return await asyncio.shield(done)
        finally:
            is_left.set()

    def passage(self, id: str) -> Passage | None:
        """Return a passage of the pipeline's collection, None if it does not exist."""
        return None if self.store is None else self.store.fetch([id])[0]

    def _use(self, pipeline: Pipeline, store: Store | None) -> None:
        """Answer with a pipeline from the next batch on."""
        self.pipeline = pipeline
        self.store = store
        self._info = None if store is None else store.info()
        # A collection without passages can take documents, too.
        self.has_documents = store is not None and all("file" in passage.meta for passage in islice(store.scan(), 1))

    async def _follow(self) -> None:
        """Take up new versions of the collection."""
        failed = ""
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            try:
                await asyncio.to_thread(self.take_up)
            except (RunError, Exception) as error:
                # The opened version goes on answering; perhaps the next one can be read.
                if str(error) != failed:
                    log.warning(
                        "%s: the collection's new version cannot be served: %s",
                        self.name,
                        error,
                    )
                failed = str(error)

    def take_up(self) -> None:
        """Load the pipeline again if its collection has a new version."""
        collection = self.pipeline.collection
        assert collection is not None
        newest = open_store(collection)
        if newest is not self.store:
            # Stations keep the version that they opened.
            pipeline = build(self.pipeline.document, self.name, self._options)
            self._use(ready(pipeline, collection), newest)

    def _enter(self) -> None:
        if self._busy >= self._max_waiting:
            raise HTTPException(503, "The server has too many waiting questions. Try again in some seconds.", RETRY)
        self._busy += 1

    def _done(self, response: asyncio.Future[Any]) -> None:  # noqa: ARG002 - the callback's signature
        self._busy -= 1

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        batch: list[PendingTurn] = []
        while True:
            # After a batch of one turn, does not wait for other clients.
            pause = self._batch.milliseconds / 1000 if len(batch) > 1 else 0
            batch = [await self._queue.get()]
            await asyncio.sleep(pause)
            while len(batch) < self._batch.turns and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            # Drops the turns of clients that disconnected.
            batch = [pending for pending in batch if not pending.response.done()]
            if batch:
                await loop.run_in_executor(self._pool, self._answer, loop, batch)

    def _answer(
        self,
        loop: asyncio.AbstractEventLoop,
        batch: list[PendingTurn],
    ) -> None:
        """Answer a batch in a thread of the pool. If a turn stops the run, answers each turn alone."""

        def report(label: str, outputs: Batch) -> None:
            if len(outputs.items) != len(batch):
                return  # a part of the answer to the only turn of the batch that has not failed
            for pending, item in zip(batch, outputs.items, strict=True):
                if not isinstance(item, Failure):
                    loop.call_soon_threadsafe(pending.stages.put_nowait, (label, item))

        try:
            with until(lambda: all(pending.response.done() for pending in batch)):
                responses = answer(
                    self.pipeline,
                    [pending.turn for pending in batch],
                    report,
                )
        except (RunError, Exception) as error:
            is_transient = isinstance(error, RunError) and error.transient
            for pending in batch:
                if len(batch) == 1 or is_transient:
                    loop.call_soon_threadsafe(_settle, pending, error)
                else:
                    self._answer(loop, [pending])
            return
        for pending, response in zip(batch, responses, strict=True):
            loop.call_soon_threadsafe(_settle, pending, response)


def _settle(pending: PendingTurn, result: Response | BaseException) -> None:
    if not pending.response.done():
        if isinstance(result, Response):
            pending.response.set_result(result)
        else:
            pending.response.set_exception(_for_clients(result))
    pending.stages.put_nowait(None)


def _for_clients(error: BaseException) -> BaseException:
    """Hide the details of a mistake, which may name paths on the server. They go to the log."""
    ordinary = error.ordinary() if isinstance(error, RunError) and not error.transient else error
    if isinstance(ordinary, InputError):
        log.warning("refused a question: %s", ordinary)
        message = str(ordinary)
        if not message.startswith("filter: "):
            message = "The pipeline cannot process this question. See the server's log."
        return HTTPException(422, message)
    return ordinary
