"""Conversations over people's own documents, for the recipes of the resolver and the query encoder.

``own-documents`` holds a folder for each collection, with ``documents`` and ``turns.jsonl``. The collections of
``untrained.txt`` are reported on and never read here; every tenth of the others is held out for validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from convqa.tasks.records import read_json_lines
from convqa.validation import Record
from recipes.files import need_files

FOLDER = "own-documents"

_UNTRAINED = "untrained.txt"
_HELD_OUT = 10


class _Line(Record):
    conversation: str
    question: str
    alone: str
    kind: str
    answer: str
    gold: list[str]


class OwnTurn(NamedTuple):
    """A turn that asks something.

    ``alone``: its self-contained wording. ``gold``: the units that answer, the most important first. ``history``: each
    earlier question with the answers that it may get: a person's, the units, or none.
    """

    conversation: str
    question: str
    alone: str
    gold: list[str]
    history: list[tuple[str, tuple[str, ...]]]


def collections(root: Path, held_out: bool) -> list[Path]:
    """Return the folders of the collections to train on, or of those held out."""
    need_files(root, [f"{FOLDER}/{_UNTRAINED}"])
    untrained = set((root / FOLDER / _UNTRAINED).read_text(encoding="utf-8").split())
    folders = [path for path in sorted((root / FOLDER).iterdir()) if path.is_dir() and path.name not in untrained]
    return [folder for index, folder in enumerate(folders) if (index % _HELD_OUT == 0) == held_out]


def turns(collection: Path) -> Iterator[OwnTurn]:
    """Yield the turns of a collection that ask something, in order."""
    histories: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for line in read_json_lines(collection / "turns.jsonl", _Line, "a turn of own-documents"):
        history = histories.setdefault(line.conversation, [])
        if line.kind != "talk":
            name = f"{collection.name}-{line.conversation}"
            yield OwnTurn(name, line.question, line.alone, line.gold, list(history))
        history.append((line.question, (line.answer, " ".join(line.gold), "")))
