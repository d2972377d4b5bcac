"""Read the records of downloaded sets, and write examples. Errors name file, record or line, and field."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from convqa.errors import InputError
from convqa.files import read_json
from convqa.training.examples import SOURCES, read
from convqa.validation import Record, Shape, read_as

Files = Mapping[str, Iterable[object]]
"""Name of a file -> the records of its lines."""

GUARD = """
Examples that share a conversation or a distinctive text with the validation and report sets were left out
(docs/reference/training.md)."""


class Truth(Record):
    """A turn of a benchmark that ``convqa download`` converted."""

    Conversation_no: int
    Truth_passages: list[str]
    Truth_answer: str = ""
    Answerable: bool = True


class PassageLine(Record):
    """A line of passages.jsonl."""

    id: str
    text: str
    title: str = ""


def need_files(folder: Path, names: Iterable[str]) -> None:
    """Raise InputError if the data folder lacks a file."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise InputError(f"{folder}: the data folder lacks {', '.join(missing)}. See docs/reference/training.md.")


def read_list(path: Path, kind: type[Shape], expected: str) -> list[Shape]:
    """Read the records of a JSON list, or the values of an object. ``expected`` describes the file in errors."""
    data: Any = read_json(path, expected)
    items = {f"record {index}": item for index, item in enumerate(data)} if isinstance(data, list) else data
    if not isinstance(items, dict):
        raise InputError(f"{path}: expected {expected}, got {type(data).__name__}.")
    return [read_as(kind, item, f"{path}: {name}", f"Expected {expected}.") for name, item in items.items()]


def read_passages(path: Path) -> list[PassageLine]:
    """Read passages.jsonl."""
    return read(path, PassageLine)


def main(doc: str | None, make: Callable[[argparse.Namespace], tuple[Files, str]], **option: Any) -> None:
    """Run a recipe: parse ``DATA EXAMPLES``, make the files and write them with their sources.

    :param option: an option of the recipe, and what ``add_argument`` takes for it.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="DATA", type=Path, help="folder of the downloaded sets")
    parser.add_argument("examples", metavar="EXAMPLES", type=Path, help="folder to write, new or empty")
    for name, about in option.items():
        parser.add_argument(f"--{name}", metavar="FILE", **about)
    arguments = parser.parse_args()
    if arguments.examples.exists() and any(arguments.examples.iterdir()):
        parser.error(f"{arguments.examples}: has files; expected a new or an empty folder")
    try:
        files, sources = make(arguments)
    except InputError as error:
        parser.exit(2, f"Error: {error}\n")
    arguments.examples.mkdir(parents=True, exist_ok=True)
    for name, lines in files.items():
        with (arguments.examples / name).open("wb") as file:
            file.writelines(orjson.dumps(line, default=_plain) + b"\n" for line in lines)
    (arguments.examples / SOURCES).write_text(sources.strip() + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """Return a record or a named tuple as a dictionary, for orjson."""
    return dict(value) if isinstance(value, Record) else value._asdict()
