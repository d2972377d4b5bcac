"""Read ShARC's utterances in either form as conversations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from convqa.domain import Conversation, Exchange, Passage, Turn, TurnId
from convqa.errors import InputError
from convqa.files import read_json
from convqa.sharc.schema import (
    ADVICE,
    EXPECTED,
    UTTERANCES,
    Form,
    Official,
    Open,
)
from convqa.tasks.files import (
    any_file,
    is_array,
    only_file,
    starts_with_record,
)
from convqa.validation import shorten

RULES = "id2snippet.json"
_RULES_EXPECTED = "a JSON object {id: rule text}"


def recognize(path: Path) -> bool:
    """Whether a file, or a file of a folder, starts with an utterance."""
    return any_file(path, (".json",), _starts_with_utterance)


def read(path: Path) -> Iterator[Conversation]:
    """Yield each utterance as a conversation of one turn, without its answer and evidence."""
    return (conversation(record) for _, record in read_records(source(path)))


def passages(path: Path) -> Iterator[Passage] | None:
    """Yield the rule texts with their ids; None in the official form, whose turns contain them."""
    file = source(path)
    if form_of(file) == "official":
        return None
    # Names a damaged file of utterances before missing rule texts.
    read_records(file)
    return (Passage(id, text) for id, text in rule_texts(file).items())


def pipeline_for(path: Path) -> str:
    """Return the default pipeline, which retrieves the rule texts in the open-retrieval form."""
    return "sharc" if form_of(source(path)) == "official" else "sharc-open"


def source(path: Path) -> Path:
    """Return the file of utterances at ``path``: the file itself, or the only one in a folder."""
    return only_file(path, (".json",), _starts_with_utterance, EXPECTED)


def form_of(file: Path) -> Form:
    """Return the form of a file of utterances: an array is of the official one."""
    return "official" if is_array(file, EXPECTED) else "open"


def read_records(file: Path) -> list[tuple[str, Official | Open]]:
    """Return the utterances of a file in order, each with its label."""
    return UTTERANCES[form_of(file)].read(file)


def rule_texts(file: Path) -> dict[str, str]:
    """Read id2snippet.json in the folder of a file of utterances: the text of each rule by id."""
    path = file.parent / RULES
    texts = read_json(path, _RULES_EXPECTED)
    if not isinstance(texts, dict):
        raise InputError(f"{path}: expected {_RULES_EXPECTED}, got {shorten(texts)}.")
    for id, text in texts.items():
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{path}: rule {id!r}: expected text, got {shorten(text)}. {ADVICE}")
    return texts


def conversation(record: Official | Open) -> Conversation:
    """Convert an utterance to a conversation of one turn. In the official form, its passage is the rule text.

    The history has the exchanges that asked back, and the turn the user's last message: the last reply or, without
    follow-up questions, the question.
    """
    history = []
    message = record.question
    for entry in record.history:
        history.append(Exchange(message, entry.follow_up_question, status="asked"))
        message = entry.follow_up_answer
    passages = None
    if isinstance(record, Official):
        passages = (Passage(record.tree_id, record.snippet, url=record.source_url),)
    turn = Turn(
        TurnId(record.utterance_id, 1),
        message,
        tuple(history),
        passages,
        record.scenario,
    )
    return Conversation(record.utterance_id, (turn,))


def _starts_with_utterance(file: Path) -> bool:
    return starts_with_record(file, EXPECTED, {"utterance_id", "question"})
