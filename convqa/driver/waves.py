"""Answer groups of conversations in waves: all first turns, then all second turns; one pipeline run per wave."""

from __future__ import annotations

import gc
import itertools
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from convqa.domain import Conversation, Response, Turn, TurnId, Turns
from convqa.driver.history import History, HistoryMode, response_of
from convqa.errors import InputError, RunError
from convqa.pipeline.load import OUTPUTS, Made, Pipeline
from convqa.pipeline.nodes import ComponentFailed

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


def drive(
    pipeline: Pipeline,
    conversations: Iterable[Conversation],
    history: HistoryMode = "own",
    batch_size: int = BATCH_SIZE,
    wait: float = WAIT_SECONDS,
    done: Callable[[TurnId], Response | None] = lambda _: None,
) -> Iterator[Wave]:
    """Answer conversations: ``batch_size`` of them at a time, wave t holding the t-th turn of each.

    :param conversations: checked (``history.checked``); walked once, one group in memory at a time.
    :param wait: seconds to wait for a store that went away before giving up.
    :param done: the response of a turn that was answered before; such turns only feed the history.
    :raises InputError: for a batch size below 1.
    :raises RunError: if the run cannot go on.
    """
    if batch_size < 1:
        raise InputError(f"batch size {batch_size}: wanted is 1 or more.")
    with _rare_collections():
        for group, members in enumerate(_batched(conversations, batch_size)):
            yield from _walk(pipeline, group, members, history, wait, done)


def _walk(
    pipeline: Pipeline,
    group: int,
    members: Sequence[Conversation],
    history: HistoryMode,
    wait: float,
    done: Callable[[TurnId], Response | None],
) -> Iterator[Wave]:
    """The waves of one group."""
    histories = [History(conversation, history) for conversation in members]
    for number in range(max((len(conversation.turns) for conversation in members), default=0)):
        open_turns: list[tuple[History, Turn]] = []
        seen: list[tuple[int, int]] = []
        for conversation, past in zip(members, histories, strict=True):
            if number >= len(conversation.turns):
                continue
            turn = conversation.turns[number]
            known = done(turn.id)
            if known is not None:
                past.add(number, known)
            else:
                exchanges, own = past.before(number)
                seen.append((len(exchanges) - own, own))
                open_turns.append((past, replace(turn, history=exchanges)))
        if not open_turns:
            continue
        responses = _patiently(pipeline, [turn for _, turn in open_turns], wait)
        for (past, _), response in zip(open_turns, responses, strict=True):
            past.add(number, response)
        yield Wave(group, number, tuple(responses), tuple(seen))


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


def _batched(conversations: Iterable[Conversation], size: int) -> Iterator[Sequence[Conversation]]:
    rest = iter(conversations)
    while members := list(itertools.islice(rest, size)):
        yield members


def _patiently(pipeline: Pipeline, turns: Sequence[Turn], wait: float) -> list[Response]:
    """Answer a wave; while a store is away, try again until it has been away for ``wait`` seconds."""
    deadline: float | None = None
    pause = 1.0
    while True:
        try:
            return answer(pipeline, turns)
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
