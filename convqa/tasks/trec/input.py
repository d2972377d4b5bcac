"""Topics as the tracks publish them: iKAT's and CAsT's JSON, and RAG's lines, which are conversations of one turn.

iKAT (2023 to 2025) and CAsT (2019 to 2021): an array of ``{number, turns | turn | responses: [...]}``. RAG: lines of
``ID<TAB>QUESTION`` (2024), or JSON lines or an array of ``{id, narrative}`` (2025).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from convqa.domain import Conversation, Exchange, Turn, TurnId
from convqa.errors import InputError
from convqa.tasks.files import any_file, files_in, first_object, read_lines, read_start, read_values
from convqa.validation import shorten

WANTED = "topics of iKAT (2023 to 2025), CAsT (2019 to 2021) or RAG, as the tracks publish them"
_ENDINGS = (".json", ".jsonl", ".txt", ".tsv")
_START = 4096
_TOPIC = re.compile(rb'\s*\[\s*\{[^\[\]{}]*?"number"\s*:')
_TURNS = ("turns", "turn", "responses")
_UTTERANCES = ("utterance", "user_utterance", "raw_utterance")
_ANSWERS = ("response", "passage")
_NARRATIVES = ("narrative", "title", "query")


def recognise(path: Path) -> bool:
    """Whether it is a file of topics, or a folder with one."""
    return any_file(path, _ENDINGS, _is_topics)


def read(path: Path) -> Iterator[Conversation]:
    """Conversations in the order of the file; a turn that is not the first has those before it as its history.

    What the file answers (``response``, or CAsT's ``passage``) is in the history, so that ``--history gold`` works. The
    statements about the user (iKAT's PTKB) are each turn's scenario.

    :raises InputError: naming the topic that is not as wanted.
    """
    file = _file(path)
    kind = _kind(file)
    if kind == "lines":
        yield from _lines(file)
        return
    seen: set[str] = set()
    for where, topic in read_values(file, WANTED, "", array=kind != "json lines"):
        conversation = _conversation(topic, f"{file}: {where}")
        if str(conversation.id) in seen:
            raise InputError(f"{file}: {where}: the topic {conversation.id} is there twice (the paths of CAsT 2022 are "
                             "not read).")  # fmt: skip
        seen.add(str(conversation.id))
        yield conversation


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = [file for file in files_in(path, _ENDINGS) if _is_topics(file)]
    if len(found) != 1:
        names = ", ".join(file.name for file in found) or "none"
        raise InputError(f"{path}: found {names}; wanted one file of {WANTED}. Give the file itself.")
    return found[0]


def _is_topics(file: Path) -> bool:
    return bool(_kind(file))


def _kind(file: Path) -> str:
    """array, json lines, or lines (of RAG 2024); "" for what is no file of topics."""
    start, _ = read_start(file, WANTED, _START)
    text = start.decode("utf-8", "replace").lstrip("\ufeff")
    if _TOPIC.match(start):
        return "array"
    if set(_NARRATIVES) & (first := first_object(text)).keys() and {"id"} <= first.keys() <= {"id", *_NARRATIVES}:
        return "array" if text.lstrip().startswith("[") else "json lines"
    named = file.suffix in {".txt", ".tsv"} and "topics" in file.name
    return "lines" if named and re.match(r"\S+\t\S", text) else ""


def _lines(file: Path) -> Iterator[Conversation]:
    for number, line in read_lines(file, WANTED):
        if not line.strip():
            continue
        name, tab, question = line.decode("utf-8", "replace").strip().partition("\t")
        if not tab or not question.strip():
            raise InputError(f"{file}: line {number}: found {shorten(line.decode('utf-8', 'replace'))}; wanted "
                             "ID, a tabulator and the question.")  # fmt: skip
        yield Conversation(name, (Turn(TurnId(name, 1), question.strip()),))


def _conversation(topic: Any, where: str) -> Conversation:
    if not isinstance(topic, dict):
        raise InputError(f"{where}: found {shorten(topic)}; wanted an object.")
    if "number" not in topic:
        name, text = topic.get("id"), _text(topic, _NARRATIVES)
        if not isinstance(name, int | str) or not text:
            raise InputError(f"{where}: wanted id and narrative.")
        return Conversation(str(name), (Turn(TurnId(str(name), 1), text),))
    number, turns = topic["number"], next((topic[name] for name in _TURNS if name in topic), None)
    if not isinstance(number, int | str) or not isinstance(turns, list) or not turns:
        raise InputError(f"{where}: wanted number, and turns: a list of one or more.")
    ptkb = topic.get("ptkb") or {}
    statements = list(ptkb.values()) if isinstance(ptkb, dict) else ptkb if isinstance(ptkb, list) else []
    scenario = " ".join(str(one) for one in statements)
    history: tuple[Exchange, ...] = ()
    made = []
    for record in turns:
        place = record.get("turn_id", record.get("number")) if isinstance(record, dict) else None
        question = _text(record, _UTTERANCES) if isinstance(record, dict) else ""
        if type(place) is not int or not question:
            raise InputError(
                f"{where}: topic {number}: found the turn {shorten(record)}; wanted a whole number as its turn_id or "
                "number, and its utterance (CAsT 2022 numbers its turns as 1-3, which is not read)."
            )
        made.append(Turn(TurnId(number, place), question, history, scenario=scenario))
        answer = _text(record, _ANSWERS)
        history = (*history, Exchange(question, answer, status="answered" if answer else "unanswered"))
    if not any(exchange.answer for exchange in history):
        made = [Turn(turn.id, turn.question, scenario=scenario) for turn in made]
    return Conversation(number, tuple(made))


def _text(record: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The first of these fields that is a text."""
    return next((record[name].strip() for name in names if isinstance(record.get(name), str)), "")
