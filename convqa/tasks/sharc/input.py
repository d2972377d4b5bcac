"""Read ShARC's utterances in either form as conversations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from convqa.domain import Conversation, Exchange, Passage, Turn, TurnId
from convqa.errors import InputError, nearest
from convqa.files import read_json
from convqa.tasks.files import any_file, first_object, only_file, read_values, start_text
from convqa.tasks.sharc.schema import ADVICE, EXPECTED, SHAPES, Form, Official, Open
from convqa.validation import read_as, shorten

RULES = "id2snippet.json"
_RULES_EXPECTED = "a JSON object {id: rule text}"


@dataclass(frozen=True, slots=True)
class Source:
    """A file of utterances. ``rules``: the path of the open-retrieval form's rule texts."""

    file: Path
    form: Form

    @property
    def rules(self) -> Path:
        return self.file.parent / RULES


@dataclass(frozen=True, slots=True)
class Located:
    """An utterance with its location for messages: file, line or record, utterance_id."""

    where: str
    record: Official | Open


def recognise(path: Path) -> bool:
    """Whether a file, or a file of a folder, starts with an utterance."""
    return any_file(path, (".json",), _starts_with_utterance)


def read(path: Path) -> Iterator[Conversation]:
    """Yield each utterance as a conversation of one turn, without its answer and evidence."""
    return (conversation(utterance.record) for utterance in read_records(source(path)))


def passages(path: Path) -> Iterator[Passage] | None:
    """Yield the rule texts with their ids; None in the official form, whose turns contain them."""
    utterances = source(path)
    if utterances.form == "official":
        return None
    return (Passage(id, text) for id, text in rule_texts(utterances).items())


def pipeline_for(path: Path) -> str:
    """Return the default pipeline, which retrieves the rule texts in the open-retrieval form."""
    return "sharc" if source(path).form == "official" else "sharc-open"


def source(path: Path) -> Source:
    """Return the file of utterances at ``path``: the file itself, or the only one in a folder."""
    file = only_file(path, (".json",), _starts_with_utterance, EXPECTED)
    start = start_text(file, EXPECTED)
    utterances = Source(file, "open" if start.startswith("{") else "official")
    if utterances.form == "open" and "snippet" in first_object(start) and not utterances.rules.is_file():
        raise InputError(
            f"{file}: starts with an utterance with snippet, as in the official form, but not with an array; expected "
            f"a JSON array of utterances, or JSON lines without snippet and {RULES} in the same folder. {ADVICE}"
        )
    return utterances


def read_records(utterances: Source) -> list[Located]:
    """Return the utterances of a file, in order. Checks that ids are distinct, and that rule texts exist."""
    rules = rule_texts(utterances) if utterances.form == "open" and utterances.rules.is_file() else None
    records, positions = list[Located](), dict[str, str]()
    for position, value in read_values(utterances.file, EXPECTED, array=utterances.form == "official"):
        id = value.get("utterance_id") if isinstance(value, dict) else None
        where = f"{utterances.file}: {position}" + (f" (utterance {shorten(id)})" if id else "")
        record = read_as(SHAPES[utterances.form], value, where, ADVICE)
        first = positions.setdefault(record.utterance_id, position)
        if first != position:
            raise InputError(f"{where}: utterance_id: is also that of {first}; expected another one. {ADVICE}")
        gold = getattr(record, "gold_snippet_id", None)
        if rules is not None and gold is not None and gold not in rules:
            raise InputError(
                f"{where}: gold_snippet_id: expected one of the {len(rules)} ids of {RULES}, got {shorten(gold)}."
                f"{nearest(gold, rules)} {ADVICE}"
            )
        records.append(Located(where, record))
    if not records:
        raise InputError(f"{utterances.file}: has no utterances. {ADVICE}")
    return records


def rule_texts(utterances: Source) -> dict[str, str]:
    """Read id2snippet.json, the text of each rule by id."""
    texts = read_json(utterances.rules, _RULES_EXPECTED)
    if not isinstance(texts, dict):
        raise InputError(f"{utterances.rules}: expected {_RULES_EXPECTED}, got {shorten(texts)}.")
    for id, text in texts.items():
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{utterances.rules}: rule {id!r}: expected text, got {shorten(text)}. {ADVICE}")
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
