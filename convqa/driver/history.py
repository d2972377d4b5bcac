"""Which earlier exchanges a turn sees: its own run's, the ones that the input gives, or none."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from convqa.domain import DEFAULT_LANGUAGE, Conversation, Exchange, Failure, Response, Turn, TurnId
from convqa.errors import InputError, nearest
from convqa.text.dialogue import added, open_question
from convqa.validation import expect_type

HistoryMode = Literal["own", "gold", "none"]


class History:
    """The history of one conversation while it is walked. Turns are named by their position, from 0."""

    def __init__(self, conversation: Conversation, mode: HistoryMode) -> None:
        self._turns = conversation.turns
        self._mode = mode
        self._has_context = any(turn.history for turn in conversation.turns)
        self._said: list[Exchange] = []
        self._by_place: dict[int, Exchange] = {}

    def before(self, position: int) -> tuple[tuple[Exchange, ...], int]:
        """The exchanges before a turn, oldest first, and how many of them this run made.

        With ``own``, an earlier turn of this run that had m given exchanges takes the place of exchange m of this
        turn's context; positions that this run did not answer stay as given. Without a context: this run's turns.
        """
        given = self._turns[position].history
        if self._mode == "none":
            return (), 0
        if self._mode == "gold":
            return given, 0
        if not self._has_context:
            return tuple(self._said), len(self._said)
        mixed = tuple(self._by_place.get(place, exchange) for place, exchange in enumerate(given))
        return mixed, sum(place in self._by_place for place in range(len(given)))

    def add(self, position: int, response: Response) -> None:
        """Keep what this run said in a turn. Turns are added in order."""
        turn = self._turns[position]
        said = exchange(turn, response)
        self._said.append(said)
        self._by_place[len(turn.history)] = said


def exchange(turn: Turn, response: Response) -> Exchange:
    """The exchange that a response adds to the history; a failure and an empty answer are marked as such."""
    rewrite = None if response.rewrite is None else response.rewrite.text
    if response.error is not None:
        return Exchange(turn.question, "", rewrite, "failed")
    answer = response.answer
    if answer is None or answer.kind == "none":
        asked = response.rewrite is None or response.rewrite.queries
        return Exchange(turn.question, "", rewrite, "unanswered" if asked else "idle")
    return Exchange(turn.question, answer.text, rewrite, "asked" if answer.kind == "question" else "answered")


def checked(conversations: Iterable[Conversation], mode: HistoryMode) -> Iterator[Conversation]:
    """The same conversations; their turns are named once, and given contexts fit the mode and one another.

    :raises InputError: for an unknown mode, what is no conversation, if a turn's name comes twice, if an earlier turn's
        context does not begin a later one's, or, at the end, if ``gold`` is asked for and no turn had a context.
    """
    if mode not in get_args(HistoryMode):
        known = get_args(HistoryMode)
        raise InputError(f"history {mode!r}: wanted is {', '.join(known)}.{nearest(mode, known)}")
    any_context = False
    seen: set[TurnId] = set()
    for conversation in conversations:
        expect_type("conversations", conversation, Conversation, "values of convqa.domain.Conversation")
        for turn in conversation.turns:
            expect_type(f"turns of {conversation.id}", turn, Turn, "values of convqa.domain.Turn")
            expect_type("question", turn.question, str, "a string")
            if turn.id in seen:
                raise InputError(f"turn {turn.id} stands twice in the input. Give each turn a number of its own.")
            seen.add(turn.id)
            any_context = any_context or bool(turn.history)
        _check_growing(conversation.turns)
        yield conversation
    if mode == "gold" and not any_context:
        raise InputError(
            "history gold: no turn of the input has a Context, so there is no given history. "
            "Use own (this run's answers) or none."
        )


def in_language(conversations: Iterable[Conversation], language: str) -> Iterator[Conversation]:
    """The same conversations; questions of the default language are in that of the collection."""
    for conversation in conversations:
        if language == DEFAULT_LANGUAGE:
            yield conversation
            continue
        turns = [
            replace(turn, language=language) if turn.language == DEFAULT_LANGUAGE else turn
            for turn in conversation.turns
        ]
        yield replace(conversation, turns=tuple(turns))


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
    rewrite = kept["rewrites"]
    return Response(
        turn.id, rewrite, kept["rankings"], kept["readings"], kept["answers"], timings=timings, error=failure,
        added=() if rewrite is None else added(open_question(turn), rewrite.text),
    )  # fmt: skip
