"""Read topics as the tracks publish them: iKAT and CAsT as JSON, RAG as lines, each a conversation of one turn.

iKAT (2023 to 2025) and CAsT (2019 to 2022): an array of ``{number, turns | turn | responses: [...]}``. CAsT 2022's
conversations branch: its files have either every utterance with its ``parent``, or every path from the first turn as a
topic of the same number. RAG: lines of ``ID<TAB>QUESTION`` (2024), or JSON lines or an array of ``{id, narrative}``
(2025).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from convqa.domain import Conversation, Exchange, Turn, TurnId
from convqa.errors import InputError
from convqa.tasks.files import (
    any_file,
    first_object,
    only_file,
    read_lines,
    read_values,
    start_text,
)
from convqa.validation import shorten

EXPECTED = "topics of iKAT (2023 to 2025), CAsT (2019 to 2022) or RAG, as the tracks publish them"
_ENDINGS = (".json", ".jsonl", ".txt", ".tsv")
_TOPIC = re.compile(r'\[\s*\{[^\[\]{}]*?"number"\s*:')
_TURNS = ("turns", "turn", "responses")
_UTTERANCES = ("utterance", "user_utterance", "raw_utterance")
_ANSWERS = ("response", "passage", "system_response")
_PARENTS = ("parent", "parent_turn")
_NARRATIVES = ("narrative", "title", "query")


def recognize(path: Path) -> bool:
    """Whether it is a file of topics, or a folder with one."""
    return any_file(path, _ENDINGS, _kind)


def read(path: Path) -> Iterator[Conversation]:
    """Yield conversations in the order of the file; the history of a turn is the turns before it, on its branch.

    The file's answers (``response``, or CAsT's ``passage``) are in the history, so that ``--history gold`` works. The
    statements about the user (iKAT's PTKB) are the lines of each turn's scenario.
    """
    file = only_file(path, _ENDINGS, _kind, EXPECTED)
    kind = _kind(file)
    if kind == "lines":
        yield from _lines(file)
        return

    def name(value: tuple[Any, Any]) -> Any:
        """Return what adjacent topics of one conversation share."""
        position, topic = value
        return topic.get("number", position) if isinstance(topic, dict) else position

    for _, group in groupby(read_values(file, EXPECTED), name):
        values = list(group)
        try:
            yield _conversation([topic for _, topic in values])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{file}: {values[0][0]}: {error}; expected {EXPECTED}.") from None


def _kind(file: Path) -> str:
    """Return json, or lines (of RAG 2024); "" if the file is not one of topics."""
    start = start_text(file, EXPECTED)
    fields = first_object(start).keys()
    is_narrative = "id" in fields and fields & set(_NARRATIVES) and fields <= {"id", *_NARRATIVES}
    if is_narrative or _TOPIC.match(start):
        return "json"
    has_name = file.suffix in {".txt", ".tsv"} and "topics" in file.name
    return "lines" if has_name and re.match(r"\S+\t\S", start) else ""


def _lines(file: Path) -> Iterator[Conversation]:
    for number, line in read_lines(file, EXPECTED):
        if not line.strip():
            continue
        text = line.decode("utf-8", "replace")
        name, tab, question = text.strip().partition("\t")
        if not tab or not question.strip():
            raise InputError(f"{file}: line {number}: expected ID, a tab and the question, got {shorten(text)}.")
        yield Conversation(name, (Turn(TurnId(name, 1), question.strip()),))


def _conversation(topics: Sequence[dict[str, Any]]) -> Conversation:
    """Return the conversation of the topics with one number, which are the paths through it if there are several."""
    if "number" not in topics[0]:
        name = str(topics[0]["id"])
        return Conversation(name, (Turn(TurnId(name, 1), _text(topics[0], _NARRATIVES)),))
    number = topics[0]["number"]
    turns: list[Turn] = []
    named = set()
    for topic in topics:
        ptkb = topic.get("ptkb") or []
        scenario = "\n".join(" ".join(str(one).split()) for one in (ptkb.values() if isinstance(ptkb, dict) else ptkb))
        records: Any = next((topic[name] for name in _TURNS if name in topic), None)
        if not records:
            raise ValueError("the topic has no turns")
        for before, record in _with_past(records):
            turn_no = _number(record)
            question = _text(record, _UTTERANCES)
            is_branching = isinstance(turn_no, str)
            if type(turn_no) not in (int, str) or not question:
                raise ValueError(f"got the turn {shorten(record)}")
            if is_branching and turn_no in named:
                continue
            named.add(turn_no)
            history = tuple(exchange for _, exchange in before)
            path = tuple(past for past, _ in before) if is_branching else None
            turns.append(Turn(TurnId(number, turn_no), question, history, scenario=scenario, path=path))
    if not any(exchange.answer for turn in turns for exchange in turn.history):
        turns = [replace(turn, history=()) for turn in turns]
    return Conversation(number, tuple(turns))


def _number(record: Mapping[str, Any]) -> Any:
    return record.get("turn_id", record.get("number"))


def _with_past(records: Sequence[Mapping[str, Any]]) -> Iterator[tuple[list[tuple[Any, Exchange]], Mapping[str, Any]]]:
    """Yield the turns of the user, each with the numbers and the exchanges before it.

    An utterance follows its parent in a tree, else the one before it.

    :raises ValueError: for an utterance before its parent.
    """
    # What was said up to an utterance, by its number.
    pasts: dict[Any, list[tuple[Any, Exchange]]] = {"": []}
    previous: Any = ""
    for record in records:
        number = _number(record)
        parent = _text(record, _PARENTS) if "participant" in record else previous
        if parent not in pasts:
            raise ValueError(f"turn {number}: its parent {parent!r} is not before it")
        past = pasts[parent]
        answer = _text(record, _ANSWERS)
        if str(record.get("participant")).lower() == "system":
            asked, exchange = past[-1] if past else (number, Exchange(""))
            pasts[number] = [*past[:-1], (asked, replace(exchange, answer=answer, status="answered"))]
        else:
            yield past, record
            exchange = Exchange(_text(record, _UTTERANCES), answer, status="answered" if answer else "unanswered")
            pasts[number] = [*past, (number, exchange)]
        previous = number


def _text(record: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the first of these fields that is a string, or ""."""
    return next(
        (record[name].strip() for name in names if isinstance(record.get(name), str)),
        "",
    )
