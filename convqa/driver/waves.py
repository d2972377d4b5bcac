"""Answer groups of conversations in waves: all first turns, then all second turns; one pipeline run per wave."""

from __future__ import annotations

import gc
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from convqa.domain import Conversation, Response, Turn, TurnId, Turns
from convqa.driver.history import History, HistoryMode, response_of
from convqa.errors import InputError, RunError
from convqa.pipeline.load import OUTPUTS, Made, Pipeline
from convqa.pipeline.nodes import ComponentFailed
from convqa.workers.shard import ALL, Shard

BATCH_SIZE = 256
WAIT_SECONDS = 120.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wave:
    """The responses to the turns at one position of a group's conversations, in the group's order.

    ``histories`` says for each how many exchanges its turn saw: (given by the input, made by this run).
    """

    group: int
    number: int
    responses: tuple[Response, ...]
    histories: tuple[tuple[int, int], ...]


class Executor(Protocol):
    """Answers waves, as many at a time as it has ``workers``."""

    @property
    def workers(self) -> int: ...

    def submit(self, turns: Sequence[Turn], wait: float) -> Future[list[Response]]:
        """Begin to answer a wave. Of the responses, the history and the journal need what ``trimmed`` leaves.

        :param wait: seconds to wait for a store that went away before giving up.
        """


class Local:
    """Answers one wave after the other, at once and in this process."""

    workers = 1

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def submit(self, turns: Sequence[Turn], wait: float) -> Future[list[Response]]:
        answered: Future[list[Response]] = Future()
        answered.set_result(patiently(lambda: answer(self._pipeline, turns), wait))
        return answered


def drive(
    pipeline: Pipeline,
    conversations: Iterable[Conversation],
    history: HistoryMode = "own",
    batch_size: int = BATCH_SIZE,
    wait: float = WAIT_SECONDS,
    done: Callable[[TurnId], Response | None] = lambda _: None,
    *,
    executor: Executor | None = None,
    shard: Shard = ALL,
) -> Iterator[Wave]:
    """Answer conversations: ``batch_size`` of them at a time, wave t holding the t-th turn of each.

    :param conversations: checked (``history.checked``); walked once, as many groups in memory as there are workers.
    :param wait: seconds to wait for a store that went away before giving up.
    :param done: the response of a turn that was answered before; such turns only feed the history.
    :param executor: None = this process. With several workers, waves of different groups come as they are answered.
    :param shard: the groups that are answered.
    :raises InputError: for a batch size below 1.
    :raises RunError: if the run cannot go on.
    """
    if batch_size < 1:
        raise InputError(f"batch size {batch_size}: wanted is 1 or more.")
    groups = shard.of(enumerate(batched(conversations, batch_size)))
    walks = (_Walk(group, members, history, done) for group, members in groups)
    with _rare_collections():
        yield from _walked(walks, executor or Local(pipeline), wait)


def _walked(walks: Iterator[_Walk], executor: Executor, wait: float) -> Iterator[Wave]:
    """The waves of all groups; each group has one under way at a time, as the next needs its responses."""
    under_way: dict[Future[list[Response]], _Walk] = {}
    idle: deque[_Walk] = deque()
    while True:
        while len(under_way) < executor.workers and (walk := idle.popleft() if idle else next(walks, None)):
            if turns := walk.turns():
                under_way[executor.submit(turns, wait)] = walk
        if not under_way:
            return
        for answered in futures.wait(under_way, return_when=futures.FIRST_COMPLETED).done:
            walk = under_way.pop(answered)
            yield walk.wave(answered.result())
            idle.append(walk)


class _Walk:
    """The walk through the turns of one group's conversations, a wave at a time."""

    def __init__(
        self,
        group: int,
        members: Sequence[Conversation],
        history: HistoryMode,
        done: Callable[[TurnId], Response | None],
    ) -> None:
        self._group, self._done = group, done
        self._members = [(conversation, History(conversation, history)) for conversation in members]
        self._length = max((len(conversation.turns) for conversation in members), default=0)
        self._number = -1
        self._open: list[History] = []
        self._seen: list[tuple[int, int]] = []

    def turns(self) -> list[Turn]:
        """The turns of the next wave that are not answered, with their histories; none at the end."""
        turns: list[Turn] = []
        while not turns and self._number + 1 < self._length:
            self._number += 1
            self._open, self._seen = [], []
            for conversation, past in self._members:
                if self._number >= len(conversation.turns):
                    continue
                turn = conversation.turns[self._number]
                if (known := self._done(turn.id)) is not None:
                    past.add(self._number, known)
                    continue
                exchanges, own = past.before(self._number)
                self._seen.append((len(exchanges) - own, own))
                self._open.append(past)
                turns.append(replace(turn, history=exchanges))
        return turns

    def wave(self, responses: Sequence[Response]) -> Wave:
        """The wave that the responses to :meth:`turns` make."""
        for past, response in zip(self._open, responses, strict=True):
            past.add(self._number, response)
        return Wave(self._group, self._number, tuple(responses), tuple(self._seen))


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let the garbage collector look less often, and put its thresholds back at the end.

    A run makes millions of small values that never form cycles. At the default thresholds ``convqa run`` took 5 to 11 %
    more processor time (copy-bm25 on or_sharc_dev and mtrag_un).
    """
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def batched(conversations: Iterable[Conversation], size: int) -> Iterator[Sequence[Conversation]]:
    """Conversations in groups of ``size``, in their order."""
    rest = iter(conversations)
    while members := list(itertools.islice(rest, size)):
        yield members


def patiently(ask: Callable[[], list[Response]], wait: float) -> list[Response]:
    """Answer a wave; while a store is away, try again until it has been away for ``wait`` seconds."""
    deadline: float | None = None
    pause = 1.0
    while True:
        try:
            return ask()
        except RunError as error:
            deadline = deadline or time.monotonic() + wait
            left = deadline - time.monotonic()
            if not error.transient or left <= 0:
                raise
            logger.warning("%s Trying again in %.0f s (giving up in %.0f s).", error, min(pause, left), left)
            time.sleep(min(pause, left))
            pause = min(2 * pause, 15.0)


def answer(pipeline: Pipeline, turns: Sequence[Turn], told: Made | None = None) -> list[Response]:
    """Run the pipeline on one wave; responses in the order of the turns.

    :param told: hears of each output as soon as it is made (:meth:`Pipeline.run`).
    """
    try:
        made = pipeline.run(Turns(tuple(turns)), told)
    except ComponentFailed as error:
        if len(turns) > 1:
            return [response for turn in turns for response in answer(pipeline, [turn])]
        return [Response(turns[0].id, error=error.failure)]
    batches = [(label, getattr(made, label)) for label in OUTPUTS]
    share = {name: seconds / len(turns) for name, seconds in made.timings.items()}
    return [
        response_of(turn, {label: batch and batch.items[index] for label, batch in batches}, share)
        for index, turn in enumerate(turns)
    ]
