"""Read ShARC's files: find the utterances, recognise their form, and make conversations of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from convqa.domain import Conversation, Exchange, Passage, Turn, TurnId
from convqa.errors import InputError, nearest
from convqa.files import read_json
from convqa.tasks.files import any_file, files_in, first_object, read_start, read_values
from convqa.tasks.sharc.schema import ADVICE, SHAPES, WANTED, Form, Official, Open
from convqa.validation import read_as, shorten

RULES = "id2snippet.json"
_RULES_WANTED = "a JSON object {id: rule text}"
_LOOKED_AT = 2**18


@dataclass(frozen=True, slots=True)
class Source:
    """A file of utterances. ``rules``: where the open-retrieval form's rule texts are to be."""

    file: Path
    form: Form

    @property
    def rules(self) -> Path:
        return self.file.parent / RULES


@dataclass(frozen=True, slots=True)
class Placed:
    """An utterance, and where it stands, as messages name it: file, line or record, utterance_id."""

    where: str
    record: Official | Open


def recognise(path: Path) -> bool:
    """Whether a file, or a file of a folder, begins with an utterance."""
    return any_file(path, (".json",), _begins)


def read(path: Path) -> Iterator[Conversation]:
    """Each utterance is a conversation of one turn; its answer and evidence stay behind."""
    return (conversation(placed.record) for placed in read_records(source(path)))


def passages(path: Path) -> Iterator[Passage] | None:
    """The rule texts as a collection, ids as they are; None in the official form, whose turns bring their own."""
    found = source(path)
    if found.form == "official":
        return None
    return (Passage(id, text) for id, text in rule_texts(found).items())


def pipeline_for(path: Path) -> str:
    """Where the input brings no rule texts with its utterances, they are to be found."""
    return "sharc" if source(path).form == "official" else "sharc-open"


def source(path: Path) -> Source:
    """The file of utterances at ``path``: itself, or the only one in a folder.

    :raises InputError: if a folder has none or several, or the file cannot be read; also for an utterance with its
        rule text that is in no array.
    """
    file = path
    if path.is_dir():
        files = [file for file in files_in(path, (".json",)) if _begins(file)]
        if len(files) != 1:
            what = f"has {' and '.join(file.name for file in files)}" if files else "has no file of utterances"
            raise InputError(f"{path}: {what}; wanted one file with {WANTED}. Give the path of a file.")
        (file,) = files
    start = _start(file)
    found = Source(file, "open" if start.startswith("{") else "official")
    if found.form == "open" and "snippet" in first_object(start) and not found.rules.is_file():
        raise InputError(
            f"{file}: begins with an utterance that has snippet, as in the official form, but is in no array; wanted a "
            f"JSON array of utterances, or JSON lines without snippet and {RULES} beside them. {ADVICE}"
        )
    return found


def read_records(found: Source) -> list[Placed]:
    """The utterances of a file, in order.

    :raises InputError: naming file, place, utterance and field of the first fault; also for an utterance_id that was
        there before, and a gold_snippet_id that is not among the rule texts beside the file.
    """
    rules = rule_texts(found) if found.form == "open" and found.rules.is_file() else None
    placed, places = list[Placed](), dict[str, str]()
    for place, value in read_values(found.file, WANTED, ADVICE, array=found.form == "official"):
        id = value.get("utterance_id") if isinstance(value, dict) else None
        where = f"{found.file}: {place} (utterance {shorten(id)})" if id else f"{found.file}: {place}"
        record = read_as(SHAPES[found.form], value, where, ADVICE)
        first = places.setdefault(record.utterance_id, place)
        if first != place:
            raise InputError(f"{where}: utterance_id: is that of {first} too; wanted another one. {ADVICE}")
        gold = getattr(record, "gold_snippet_id", None)
        if rules is not None and gold is not None and gold not in rules:
            raise InputError(
                f"{where}: gold_snippet_id: found {shorten(gold)}; wanted an id of {found.rules.name}, which has "
                f"{len(rules)}.{nearest(gold, rules)} {ADVICE}"
            )
        placed.append(Placed(where, record))
    if not placed:
        raise InputError(f"{found.file}: there is no utterance in it. {ADVICE}")
    return placed


def rule_texts(found: Source) -> dict[str, str]:
    """id2snippet.json: the text of each rule by id.

    :raises InputError: if it is missing or anything else; also where an id is there twice.
    """
    texts = read_json(found.rules, _RULES_WANTED)
    if not isinstance(texts, dict):
        raise InputError(f"{found.rules}: found {shorten(texts)}; wanted {_RULES_WANTED}.")
    for id, text in texts.items():
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{found.rules}: rule {id!r}: found {shorten(text)}; wanted text. {ADVICE}")
    return texts


def conversation(record: Official | Open) -> Conversation:
    """An utterance as a conversation of one turn. The official form's brings its rule text, called by the tree's id."""
    history, question = asked_back(
        record.question, [(entry.follow_up_question, entry.follow_up_answer) for entry in record.history]
    )
    passages = None
    if isinstance(record, Official):
        passages = (Passage(record.tree_id, record.snippet, url=record.source_url),)
    turn = Turn(TurnId(record.utterance_id, 1), question, history, passages, record.scenario)
    return Conversation(record.utterance_id, (turn,))


def asked_back(question: str, follow_ups: Sequence[tuple[str, str]]) -> tuple[tuple[Exchange, ...], str]:
    """The history, and what the user says now: the last reply, or the question where nothing was asked back.

    In each exchange the user said something, and the system asked.

    :param follow_ups: (what was asked back, the reply) in order.

    >>> history, now = asked_back("Can I apply?", [("Are you over 60?", "Yes"), ("Do you work?", "No")])
    >>> [(exchange.question, exchange.answer, exchange.status) for exchange in history], now
    ([('Can I apply?', 'Are you over 60?', 'asked'), ('Yes', 'Do you work?', 'asked')], 'No')
    """
    said = [question, *(reply for _, reply in follow_ups)]
    pairs = zip(said, follow_ups, strict=False)
    return tuple(Exchange(words, asked, status="asked") for words, (asked, _) in pairs), said[-1]


def _begins(file: Path) -> bool:
    return {"utterance_id", "question"} <= first_object(_start(file)).keys()


def _start(file: Path) -> str:
    return read_start(file, WANTED, _LOOKED_AT)[0].decode("utf-8-sig", "replace").lstrip()
