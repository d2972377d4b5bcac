"""Which earlier exchanges a turn sees: its own run's, the ones that the input gives, or none."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from convqa.domain import Conversation, Exchange, Failure, Response, Turn
from convqa.errors import InputError

HistoryMode = Literal["own", "gold", "none"]


class History:
    """The history of one conversation while it is walked. Turns are named by their position, from 0."""

    def __init__(self, conversation: Conversation, mode: HistoryMode) -> None:
        self._turns = conversation.turns
        self._mode = mode
        self._has_context = any(turn.history for turn in conversation.turns)
        self._own: dict[int, Exchange] = {}

    def before(self, position: int) -> tuple[Exchange, ...]:
        """The exchanges before a turn, oldest first.

        With ``own``, an earlier turn of this run that had m given exchanges takes the place of exchange m of this
        turn's context; positions that this run did not answer stay as given. Without a context: this run's turns.
        """
        given = self._turns[position].history
        if self._mode == "none":
            return ()
        if self._mode == "gold":
            return given
        if not self._has_context:
            return tuple(self._own[earlier] for earlier in range(position) if earlier in self._own)
        exchanges = list(given)
        for earlier in range(position):
            place = len(self._turns[earlier].history)
            if earlier in self._own and place < len(exchanges):
                exchanges[place] = self._own[earlier]
        return tuple(exchanges)

    def own_in(self, exchanges: Sequence[Exchange]) -> int:
        """How many of the exchanges this run made itself."""
        mine = {id(exchange) for exchange in self._own.values()}
        return sum(id(exchange) in mine for exchange in exchanges)

    def add(self, position: int, response: Response) -> None:
        """Keep what this run said in a turn."""
        self._own[position] = exchange(self._turns[position], response)


def exchange(turn: Turn, response: Response) -> Exchange:
    """What a response leaves in the history; a failed or unanswered turn is marked, so that it misleads nobody."""
    rewrite = None if response.rewrite is None else response.rewrite.text
    if response.error is not None:
        return Exchange(turn.question, "", rewrite, "failed")
    answer = response.answer
    if answer is None or answer.kind == "none":
        return Exchange(turn.question, "", rewrite, "unanswered")
    return Exchange(turn.question, answer.text, rewrite, "asked" if answer.kind == "question" else "answered")


def check(conversations: Iterable[Conversation], mode: HistoryMode) -> None:
    """Check that given contexts fit the mode and one another.

    :raises InputError: if ``gold`` is asked for and no turn has a context, or if an earlier turn's context does not
        begin a later one's.
    """
    any_context = False
    for conversation in conversations:
        any_context = any_context or any(turn.history for turn in conversation.turns)
        _check_growing(conversation.turns)
    if mode == "gold" and not any_context:
        raise InputError(
            "history gold: no turn of the input has a Context, so there is no given history. "
            "Use own (this run's answers) or none."
        )


def _check_growing(turns: Sequence[Turn]) -> None:
    for earlier, later in itertools.pairwise(turns):
        start = later.history[: len(earlier.history)]
        if start != earlier.history:
            raise InputError(
                f"turn {later.id}: its Context does not begin with the Context of turn {earlier.id} "
                f"({len(earlier.history)} exchanges). Contexts of one conversation must grow; give the turns "
                "different Conversation_no if they are different conversations."
            )


def response_of(turn: Turn, made: Mapping[str, Any], timings: Mapping[str, float]) -> Response:
    """One turn's response from what its pipeline made (rewrites, rankings ...), where each may be a Failure or None."""
    failure = next((part for part in made.values() if isinstance(part, Failure)), None)
    kept = {label: None if isinstance(part, Failure) else part for label, part in made.items()}
    return Response(
        turn.id, kept["rewrites"], kept["rankings"], kept["readings"], kept["answers"], timings=timings, error=failure
    )
