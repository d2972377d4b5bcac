"""The history of a turn: exchanges of this run, exchanges given by the input, or none."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from convqa.domain import DEFAULT_LANGUAGE, Conversation, Exchange, Failure, Response, Turn, TurnId
from convqa.errors import InputError, counted, nearest
from convqa.text.analysis import analyzer_or_words
from convqa.text.dialogue import added, open_question
from convqa.validation import expect_type

HistoryMode = Literal["own", "gold", "none"]


class History:
    """The history of one conversation. Turns are identified by position, from 0."""

    def __init__(self, conversation: Conversation, mode: HistoryMode) -> None:
        self._turns = conversation.turns
        self._mode = mode
        self._has_context = any(turn.history for turn in conversation.turns)
        self._own: dict[int, Exchange] = {}

    def before(self, position: int) -> tuple[tuple[Exchange, ...], int]:
        """Return the exchanges before a turn, oldest first, and how many of them this run made.

        In mode ``own``, an earlier turn of this run with m given exchanges replaces exchange m of this turn's context;
        exchanges that this run did not answer stay as given. Without a context, the history is this run's turns. Only
        the turns of a turn's own branch count.
        """
        given = self._turns[position].history
        path = self._turns[position].path
        own = {
            index: self._own[index]
            for index, turn in enumerate(self._turns[:position])
            if index in self._own and (path is None or turn.id.number in path)
        }
        if self._mode == "none":
            return (), 0
        if self._mode == "gold":
            return given, 0
        if not self._has_context:
            return tuple(own.values()), len(own)
        answered = {len(self._turns[index].history): exchange for index, exchange in own.items()}
        exchanges = tuple(answered.get(index, exchange) for index, exchange in enumerate(given))
        return exchanges, sum(index in answered for index in range(len(given)))

    def add(self, position: int, response: Response) -> None:
        """Add the response to a turn. Turns are added in order."""
        self._own[position] = exchange(self._turns[position], response)


def exchange(turn: Turn, response: Response) -> Exchange:
    """Return the exchange that a response adds to the history, with its status."""
    rewrite = None if response.rewrite is None else response.rewrite.text
    if response.error is not None:
        return Exchange(turn.question, "", rewrite, "failed")
    answer = response.answer
    if answer is None or answer.kind == "none":
        searches = response.rewrite is None or response.rewrite.queries
        return Exchange(turn.question, "", rewrite, "unanswered" if searches else "idle")
    if answer.kind == "talk":
        return Exchange(turn.question, answer.shown, rewrite, "idle")
    cited = sorted(answer.cited_ids())
    return Exchange(turn.question, answer.text, rewrite, "asked" if answer.kind == "question" else "answered", cited)


def checked(conversations: Iterable[Conversation], mode: HistoryMode) -> Iterator[Conversation]:
    """Yield the same conversations after checking their types, turn ids and contexts.

    :raises InputError: for an unknown mode, a value of another type, a duplicate turn id, a context that does not begin
        with the previous turn's, or, at the end, mode ``gold`` without any context.
    """
    known = get_args(HistoryMode)
    if mode not in known:
        raise InputError(f"history {mode!r}: expected one of {', '.join(known)}.{nearest(mode, known)}")
    any_context = False
    seen: set[TurnId] = set()
    for conversation in conversations:
        expect_type("conversations", conversation, Conversation, "values of convqa.domain.Conversation")
        for turn in conversation.turns:
            expect_type(f"turns of {conversation.id}", turn, Turn, "values of convqa.domain.Turn")
            expect_type("question", turn.question, str, "a string")
            if turn.id in seen:
                raise InputError(f"turn {turn.id} occurs twice in the input. Give each turn its own number.")
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
    """Yield the same conversations, with the collection's language for questions in the default language."""
    for conversation in conversations:
        turns = [
            replace(turn, language=language) if turn.language == DEFAULT_LANGUAGE else turn
            for turn in conversation.turns
        ]
        yield replace(conversation, turns=tuple(turns))


def _check_growing(turns: Sequence[Turn]) -> None:
    for earlier, later in itertools.pairwise(turns):
        if later.path is None and later.history[: len(earlier.history)] != earlier.history:
            raise InputError(
                f"turn {later.id}: its Context does not begin with the Context of turn {earlier.id} "
                f"({counted(len(earlier.history), 'exchanges')}). Contexts of one conversation must grow; give the "
                "turns different Conversation_no if they are different conversations."
            )


def response_of(
    turn: Turn,
    outputs: Mapping[str, Any],
    timings: Mapping[str, float],
) -> Response:
    """Return a turn's response, given the pipeline's outputs by label. An output may be a Failure or None."""
    failures = [output for output in outputs.values() if isinstance(output, Failure)]
    values = {label: None if isinstance(output, Failure) else output for label, output in outputs.items()}
    rewrite = values["rewrites"]
    return Response(
        turn.id,
        rewrite,
        values["rankings"],
        values["readings"],
        values["answers"],
        timings=timings,
        error=failures[0] if failures else None,
        added=() if rewrite is None else added(open_question(turn), rewrite.text),
        statements=() if rewrite is None else _used_statements(turn, rewrite.text),
    )


def _used_statements(turn: Turn, rewrite: str) -> tuple[str, ...]:
    """Return the statements with a content word that the rewrite has and the conversation lacks."""
    if not turn.statements:
        return ()

    def words(*texts: str) -> set[str]:
        return {stem for text in texts for _, stem in analyzer_or_words(turn.language).content_words(text)}

    said = [text for exchange in turn.history for text in (exchange.question, exchange.answer)]
    new = words(rewrite) - words(turn.question, *said)
    return tuple(statement for statement in turn.statements if words(statement) & new)
