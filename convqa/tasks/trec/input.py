"""Read topics as the tracks publish them: iKAT and CAsT as JSON, RAG as lines, each a conversation of one turn.

iKAT (2023 to 2025) and CAsT (2019 to 2021): an array of ``{number, turns | turn | responses: [...]}``. RAG: lines of
``ID<TAB>QUESTION`` (2024), or JSON lines or an array of ``{id, narrative}`` (2025).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
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

EXPECTED = "topics of iKAT (2023 to 2025), CAsT (2019 to 2021) or RAG, as the tracks publish them"
_ENDINGS = (".json", ".jsonl", ".txt", ".tsv")
_TOPIC = re.compile(r'\[\s*\{[^\[\]{}]*?"number"\s*:')
_TURNS = ("turns", "turn", "responses")
_UTTERANCES = ("utterance", "user_utterance", "raw_utterance")
_ANSWERS = ("response", "passage")
_NARRATIVES = ("narrative", "title", "query")


def recognize(path: Path) -> bool:
    """Whether it is a file of topics, or a folder with one."""
    return any_file(path, _ENDINGS, _kind)


def read(path: Path) -> Iterator[Conversation]:
    """Yield conversations in the order of the file; the history of a turn is the turns before it.

    The file's answers (``response``, or CAsT's ``passage``) are in the history, so that ``--history gold`` works. The
    statements about the user (iKAT's PTKB) are the scenario of each turn.
    """
    file = only_file(path, _ENDINGS, _kind, EXPECTED)
    kind = _kind(file)
    if kind == "lines":
        yield from _lines(file)
        return
    for position, topic in read_values(file, EXPECTED):
        try:
            yield _conversation(topic)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{file}: {position}: {error}; expected {EXPECTED}.") from None


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


def _conversation(topic: dict[str, Any]) -> Conversation:
    if "number" not in topic:
        name = str(topic["id"])
        return Conversation(name, (Turn(TurnId(name, 1), _text(topic, _NARRATIVES)),))
    number = topic["number"]
    records: Any = next((topic[name] for name in _TURNS if name in topic), None)
    if not records:
        raise ValueError("the topic has no turns")
    ptkb = topic.get("ptkb") or []
    statements = ptkb.values() if isinstance(ptkb, dict) else ptkb
    scenario = " ".join(map(str, statements))
    history: list[Exchange] = []
    turns = []
    for record in records:
        turn_no = record.get("turn_id", record.get("number"))
        question = _text(record, _UTTERANCES)
        if type(turn_no) is not int or not question:
            raise ValueError(f"got the turn {shorten(record)} (CAsT 2022's numbers such as 1-3 are not supported)")
        turns.append(Turn(TurnId(number, turn_no), question, tuple(history), scenario=scenario))
        answer = _text(record, _ANSWERS)
        history.append(Exchange(question, answer, status="answered" if answer else "unanswered"))
    if not any(exchange.answer for exchange in history):
        turns = [replace(turn, history=()) for turn in turns]
    return Conversation(number, tuple(turns))


def _text(record: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the first of these fields that is a string, or ""."""
    return next(
        (record[name].strip() for name in names if isinstance(record.get(name), str)),
        "",
    )
