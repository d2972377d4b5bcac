"""Read ShARC's utterances in either form as conversations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from convqa.domain import Conversation, Exchange, Passage, Turn, TurnId
from convqa.errors import InputError, nearest
from convqa.files import read_json
from convqa.sharc.schema import ADVICE, EXPECTED, SHAPES, Form, Official, Open
from convqa.tasks.files import any_file, first_object, only_file, read_values, start_text
from convqa.validation import read_as, shorten

RULES = "id2snippet.json"
_RULES_EXPECTED = "a JSON object {id: rule text}"


def recognise(path: Path) -> bool:
    """Whether a file, or a file of a folder, starts with an utterance."""
    return any_file(path, (".json",), _starts_with_utterance)


def read(path: Path) -> Iterator[Conversation]:
    """Yield each utterance as a conversation of one turn, without its answer and evidence."""
    return (conversation(record) for _, record in read_records(source(path)))


def passages(path: Path) -> Iterator[Passage] | None:
    """Yield the rule texts with their ids; None in the official form, whose turns contain them."""
    file = source(path)
    return None if form_of(file) == "official" else (Passage(id, text) for id, text in rule_texts(file).items())


def pipeline_for(path: Path) -> str:
    """Return the default pipeline, which retrieves the rule texts in the open-retrieval form."""
    return "sharc" if form_of(source(path)) == "official" else "sharc-open"


def source(path: Path) -> Path:
    """Return the file of utterances at ``path``: the file itself, or the only one in a folder."""
    file = only_file(path, (".json",), _starts_with_utterance, EXPECTED)
    start = start_text(file, EXPECTED)
    if start.startswith("{") and "snippet" in first_object(start) and not (file.parent / RULES).is_file():
        raise InputError(
            f"{file}: starts with an utterance with snippet, as in the official form, but not with an array; expected "
            f"a JSON array of utterances, or JSON lines without snippet and {RULES} in the same folder. {ADVICE}"
        )
    return file


def form_of(file: Path) -> Form:
    """Return the form of a file of utterances: an array is of the official one."""
    return "open" if start_text(file, EXPECTED).startswith("{") else "official"


def read_records(file: Path) -> list[tuple[str, Official | Open]]:
    """Return the utterances of a file in order, each with its location for messages: file, line or record, id.

    Ids must be distinct, and rule texts exist.
    """
    form = form_of(file)
    rules = rule_texts(file) if form == "open" and (file.parent / RULES).is_file() else None
    records, positions = list[tuple[str, Official | Open]](), dict[str, str]()
    for position, value in read_values(file, EXPECTED, array=form == "official"):
        id = value.get("utterance_id") if isinstance(value, dict) else None
        where = f"{file}: {position}" + (f" (utterance {shorten(id)})" if id else "")
        record = read_as(SHAPES[form], value, where, ADVICE)
        first = positions.setdefault(record.utterance_id, position)
        if first != position:
            raise InputError(f"{where}: utterance_id: is also that of {first}; expected another one. {ADVICE}")
        gold = getattr(record, "gold_snippet_id", None)
        if rules is not None and gold is not None and gold not in rules:
            raise InputError(
                f"{where}: gold_snippet_id: expected one of the {len(rules)} ids of {RULES}, got {shorten(gold)}."
                f"{nearest(gold, rules)} {ADVICE}"
            )
        records.append((where, record))
    if not records:
        raise InputError(f"{file}: has no utterances. {ADVICE}")
    return records


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
    """Convert an utterance to a conversation of one turn. In the official form, its passage is the rule text."""
    history, question = asked_back(
        record.question, [(entry.follow_up_question, entry.follow_up_answer) for entry in record.history]
    )
    passages = None
    if isinstance(record, Official):
        passages = (Passage(record.tree_id, record.snippet, url=record.source_url),)
    turn = Turn(TurnId(record.utterance_id, 1), question, history, passages, record.scenario)
    return Conversation(record.utterance_id, (turn,))


def asked_back(question: str, follow_ups: Sequence[tuple[str, str]]) -> tuple[tuple[Exchange, ...], str]:
    """Return the history of asked exchanges and the user's last message: the last reply or, without follow-ups, the
    question.

    :param follow_ups: (follow-up question, reply) in order.

    >>> history, now = asked_back("Can I apply?", [("Are you over 60?", "Yes"), ("Do you work?", "No")])
    >>> [(exchange.question, exchange.answer, exchange.status) for exchange in history], now
    ([('Can I apply?', 'Are you over 60?', 'asked'), ('Yes', 'Do you work?', 'asked')], 'No')
    """
    messages = [question, *(reply for _, reply in follow_ups)]
    pairs = zip(messages, follow_ups, strict=False)
    return tuple(Exchange(message, asked, status="asked") for message, (asked, _) in pairs), messages[-1]


def _starts_with_utterance(file: Path) -> bool:
    return {"utterance_id", "question"} <= first_object(start_text(file, EXPECTED)).keys()
