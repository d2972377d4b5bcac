"""Answer groups of conversations in waves: all first turns, then all second turns, one pipeline run per wave."""

from __future__ import annotations

import gc
import itertools
import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent import futures
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from convqa.domain import Conversation, Response, Turn, TurnId, Turns
from convqa.driver.history import History, HistoryMode, response_of
from convqa.errors import InputError, RunError
from convqa.pipeline.pipeline import OUTPUTS, ComponentFailed, OnOutput, Pipeline
from convqa.workers.shard import ALL, Shard

BATCH_SIZE = 256
WAIT_SECONDS = 120.0
MAX_PAUSE_SECONDS = 15.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wave:
    """The turns at one position of a group's conversations, in the group's order, and the responses to them.

    ``histories``: for each turn, the exchanges (given by the input, made by this run) in its history.
    """

    group: int
    number: int
    responses: Sequence[Response]
    histories: Sequence[tuple[int, int]]
    turns: Sequence[Turn] = ()


Submit = Callable[[Sequence[Turn]], "Future[list[Response]]"]
"""Begins to answer a wave. The responses may be trimmed."""


Walk = Generator[Wave, list[Response] | None, None]
"""Yields the waves of a group, and is sent the responses to each."""


def drive(
    pipeline: Pipeline,
    conversations: Iterable[Conversation],
    history: HistoryMode = "own",
    batch_size: int = BATCH_SIZE,
    wait: float = WAIT_SECONDS,
    done: Callable[[TurnId], Response | None] = lambda _: None,
    *,
    submit: Submit | None = None,
    at_once: int = 1,
    shard: Shard = ALL,
) -> Iterator[Wave]:
    """Answer conversations in groups of ``batch_size``. Wave t holds the t-th turn of each conversation of a group.

    :param conversations: checked conversations (``history.checked``), iterated once.
    :param wait: seconds to wait for an unavailable store.
    :param done: returns the response of a turn answered before, which is only added to the history.
    :param submit: answers the waves of ``at_once`` groups concurrently; None = this process answers one at a time.
    :param shard: the shard of these conversations; groups are numbered as in the whole input.
    :raises InputError: for a batch size below 1.
    :raises RunError: if the run cannot continue.
    """
    if batch_size < 1:
        raise InputError(f"batch size: expected 1 or more, got {batch_size}.")

    def here(turns: Sequence[Turn]) -> Future[list[Response]]:
        answered: Future[list[Response]] = Future()
        answered.set_result(patiently(lambda: answer(pipeline, turns), wait))
        return answered

    rest = iter(conversations)
    groups = iter(lambda: list(itertools.islice(rest, batch_size)), [])
    walks = (_walk(shard.index_in_run(index), members, history, done) for index, members in enumerate(groups))
    with _rare_collections():
        yield from _walked(walks, submit or here, at_once)


def _walked(
    walks: Iterator[Walk],
    submit: Submit,
    at_once: int,
) -> Iterator[Wave]:
    """Yield the waves of all groups as they are answered, at most one of each group at a time."""
    under_way: dict[Future[list[Response]], tuple[Wave, Walk]] = {}

    def advance(walk: Walk, responses: list[Response] | None = None) -> None:
        with suppress(StopIteration):
            wave = walk.send(responses)
            under_way[submit(wave.turns)] = (wave, walk)

    while True:
        # A group without open turns ends at once, so that more than one may begin.
        while len(under_way) < at_once:
            walk = next(walks, None)
            if walk is None:
                break
            advance(walk)
        if not under_way:
            return
        for answered in futures.wait(under_way, return_when=futures.FIRST_COMPLETED).done:
            wave, walk = under_way.pop(answered)
            responses = answered.result()
            yield replace(wave, responses=responses)
            advance(walk, responses)


def _walk(
    group: int,
    members: Sequence[Conversation],
    mode: HistoryMode,
    done: Callable[[TurnId], Response | None],
) -> Walk:
    """Yield the waves of one group, each of which is sent its responses."""
    histories = [History(conversation, mode) for conversation in members]
    for number in range(max(len(conversation.turns) for conversation in members)):
        turns: list[Turn] = []
        counts: list[tuple[int, int]] = []
        waiting = []
        for conversation, history in zip(members, histories, strict=True):
            if number >= len(conversation.turns):
                continue
            turn = conversation.turns[number]
            response = done(turn.id)
            if response is not None:
                history.add(number, response)
                continue
            exchanges, own = history.before(number)
            turns.append(replace(turn, history=exchanges))
            counts.append((len(exchanges) - own, own))
            waiting.append(history)
        if turns:
            responses = yield Wave(group, number, (), counts, turns)
            for history, response in zip(waiting, responses or (), strict=True):
                history.add(number, response)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Raise the thresholds of the garbage collector.

    A run creates millions of small values without cycles. At the default thresholds, ``convqa run`` took 5 to 11 % more
    processor time (copy-bm25 on or_sharc_dev and mtrag_un).
    """
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def patiently(ask: Callable[[], list[Response]], wait: float) -> list[Response]:
    """Answer a wave, retrying for ``wait`` seconds while a store is unavailable."""
    deadline: float | None = None
    pause = 1.0
    while True:
        try:
            return ask()
        except RunError as error:
            now = time.monotonic()
            deadline = deadline or now + wait
            left = deadline - now
            if not error.transient or left <= 0:
                raise
            pause = min(pause, left)
            logger.warning("%s Trying again in %.0f s (giving up in %.0f s).", error, pause, left)
            time.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)


def answer(
    pipeline: Pipeline,
    turns: Sequence[Turn],
    on_output: OnOutput | None = None,
) -> list[Response]:
    """Run the pipeline on one wave. Return the responses in the order of the turns.

    :param on_output: called with each output as soon as it is available (:meth:`Pipeline.run`).
    """
    try:
        outputs = pipeline.run(Turns(tuple(turns)), on_output)
    except ComponentFailed as error:
        if len(turns) > 1:
            return [response for turn in turns for response in answer(pipeline, [turn])]
        return [Response(turns[0].id, error=error.failure)]
    share = {name: seconds / len(turns) for name, seconds in outputs.timings.items()}
    responses = []
    for index, turn in enumerate(turns):
        items = {}
        for label in OUTPUTS:
            batch = getattr(outputs, label)
            items[label] = None if batch is None else batch.items[index]
        responses.append(response_of(turn, items, share))
    return responses
