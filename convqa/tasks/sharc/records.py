"""Utterances of a file, checked: the first fault ends the reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from convqa.errors import InputError, nearest
from convqa.tasks.sharc.files import Source, rule_texts, values
from convqa.tasks.sharc.schema import ADVICE, SHAPES, Official, Open
from convqa.validation import read_as, shorten


@dataclass(frozen=True, slots=True)
class Placed:
    """An utterance, and where it stands, as messages name it: file, line or record, utterance_id."""

    where: str
    record: Official | Open


def read_records(found: Source) -> list[Placed]:
    """The utterances of a file, in order.

    :raises InputError: naming file, place, utterance and field of the first fault; also for an utterance_id that was
        there before, and a gold_snippet_id that is not among the rule texts beside the file.
    """
    rules = rule_texts(found) if found.form == "open" and found.rules.is_file() else None
    placed, places = list[Placed](), dict[str, str]()
    for place, value in values(found):
        where = f"{found.file}: {_named(place, value)}"
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


def _named(place: str, value: Any) -> str:
    id = value.get("utterance_id") if isinstance(value, dict) else None
    return f"{place} (utterance {shorten(id)})" if id else place
