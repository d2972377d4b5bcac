"""Read the responses of a run folder as a stream."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import orjson

from convqa.domain import Response, TurnId
from convqa.driver.folder import META, SHARD
from convqa.driver.journal import JOURNAL, whole_waves
from convqa.errors import InputError
from convqa.files import read_json

logger = logging.getLogger(__name__)


def read_responses(folder: Path) -> Iterator[Response]:
    """Yield the responses of a run, conversation by conversation, in the order in which they were first answered.

    Memory holds one group of conversations and a few bytes per wave.

    :raises InputError: if the folder holds no run, or an empty or damaged one.
    """
    path = folder / JOURNAL
    if not path.is_file():
        problem = f"it has no {JOURNAL}" if folder.is_dir() else "there is no such folder"
        raise InputError(f"{folder}: no run: {problem}. Expected a folder written by convqa run.")
    turns = _turns_of_whole_run(folder)
    waves: dict[int, list[tuple[int, int, int]]] = {}
    for _, lines in whole_waves(path):
        offset, first = lines[0]
        group, number, size = first["batch"]
        waves.setdefault(group, []).append((number, offset, size))
    if not waves:
        raise InputError(f"{path}: holds no response yet. Run again to continue it.")
    count = sum(size for waves_of_group in waves.values() for _, _, size in waves_of_group)
    if turns is not None and count < turns:
        raise InputError(
            f"{path}: holds {count} of the {turns} turns that the run answered. Run again: it answers the rest."
        )
    with path.open("rb") as file:
        for group in sorted(waves):
            yield from _conversations(path, file, sorted(waves[group]))


def _conversations(path: Path, file: BinaryIO, waves: list[tuple[int, int, int]]) -> Iterator[Response]:
    """Yield the responses of one group by conversation. ``waves``: (number, offset, size), by number."""
    conversations: dict[int | str, list[Response]] = {}
    for _, offset, size in waves:
        file.seek(offset)
        for line in islice(file, size):
            response = _response(path, line)
            conversations.setdefault(response.id.conversation, []).append(response)
    for responses in conversations.values():
        yield from responses


def _response(path: Path, line: bytes) -> Response:
    data = orjson.loads(line)
    try:
        return Response.from_json(data)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        turn = TurnId.from_json(data["id"])
        raise InputError(
            f"{path}: turn {turn} is malformed ({type(error).__name__}: {error}). Run with --restart."
        ) from None


def _turns_of_whole_run(folder: Path) -> int | None:
    """Return how many turns a run answered; None if unknown or, with a warning, if the run has not ended."""
    meta = folder / META
    if not meta.is_file():
        return None
    record = read_json(meta, "the metadata of a run")
    if not isinstance(record, dict):
        raise InputError(f"{meta}: expected the metadata of a run, an object. Run again.")
    if record.get("status") != "done":
        is_shard = record.get("status") == SHARD
        logger.warning(
            "%s: this run %s; its answers so far are read. trec-rag and jwhr name a turn by its "
            "conversation where that has one turn, which further turns change",
            folder, "is a shard of a run (convqa merge makes the run)" if is_shard else "is not finished",
        )  # fmt: skip
        return None
    counts = record.get("counts")
    turns = counts.get("turns") if isinstance(counts, dict) else None
    return turns if isinstance(turns, int) else None


def task_of(folder: Path) -> str:
    """Return the name of the task that a run answers, "" if unknown."""
    meta = read_json(folder / META, "the metadata of a run") if (folder / META).is_file() else {}
    mark = meta.get("fingerprint") if isinstance(meta, dict) else None
    return str(mark.get("task", "")) if isinstance(mark, dict) else ""
