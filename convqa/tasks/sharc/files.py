"""Which file has the utterances, in which form, and the rule texts that lie beside the open-retrieval one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.domain import Passage
from convqa.errors import InputError
from convqa.files import MENDED, log, parse_line, read_bytes, read_json
from convqa.tasks.lines import files_in, first_object, read_lines, read_start
from convqa.tasks.sharc.schema import ADVICE, WANTED, Form
from convqa.validation import shorten

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


def source(path: Path) -> Source:
    """The file of utterances at ``path``: itself, or the only one in a folder.

    :raises InputError: if a folder has none or several, or the file cannot be read; also for an utterance with its
        rule text that is in no array.
    """
    file = path
    if path.is_dir():
        files = [file for file in files_in(path, (".json",)) if _begins_with_utterance(file)]
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


def looks_like_input(path: Path) -> bool:
    """Whether a file, or a file of a folder, begins with an utterance."""
    try:
        return any(_begins_with_utterance(file) for file in (files_in(path, (".json",)) if path.is_dir() else [path]))
    except InputError:
        return False


def values(found: Source) -> Iterator[tuple[str, Any]]:
    """(``record 2`` of an array, from 0 on, or ``line 3``; value) of everything that should be an utterance.

    :raises InputError: naming line and column of what is no JSON.
    """
    if found.form == "open":
        for number, line in read_lines(found.file, WANTED):
            if line.strip():
                value, mended = parse_line(line, f"{found.file}: line {number}", ADVICE, number == 1)
                if mended:
                    log.warning(MENDED, f"{found.file}: line {number}", mended)
                yield f"line {number}", value
        return
    records = read_json(found.file, WANTED)
    if not isinstance(records, list):
        raise InputError(f"{found.file}: found {shorten(records)}; wanted {WANTED}.")
    for index, record in enumerate(records):
        yield f"record {index}", record


def rule_texts(found: Source) -> dict[str, str]:
    """id2snippet.json: the text of each rule by id.

    :raises InputError: if it is missing or anything else, or an id is there twice.
    """
    texts = read_json(found.rules, _RULES_WANTED)
    if not isinstance(texts, dict):
        raise InputError(f"{found.rules}: found {shorten(texts)}; wanted {_RULES_WANTED}.")
    for id, text in texts.items():
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{found.rules}: rule {id!r}: found {shorten(text)}; wanted text. {ADVICE}")
    _refuse_repeats(found.rules)
    return texts


def passages(found: Source) -> Iterator[Passage] | None:
    """The rule texts as a collection, ids as they are; None in the official form, whose turns bring their own."""
    if found.form == "official":
        return None
    return (Passage(id, text) for id, text in rule_texts(found).items())


def _refuse_repeats(file: Path) -> None:
    """Refuse an id that a file of rule texts has twice: of an object that is read the last one stays, silently."""
    pairs = json.loads(read_bytes(file, _RULES_WANTED).decode("utf-8-sig"), object_pairs_hook=list)
    seen = set[str]()
    for id, _ in pairs:
        if id in seen:
            raise InputError(f"{file}: rule {id!r}: is there twice; wanted an id of its own for each rule. {ADVICE}")
        seen.add(id)


def _begins_with_utterance(file: Path) -> bool:
    return {"utterance_id", "question"} <= first_object(_start(file)).keys()


def _start(file: Path) -> str:
    return read_start(file, WANTED, _LOOKED_AT)[0].decode("utf-8-sig", "replace").lstrip()
