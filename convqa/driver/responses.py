"""The responses of a run's folder, read back without holding them."""

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
    """The responses of a run, conversation by conversation, in the order in which these were first answered.

    Memory holds the responses of one group of conversations, as the run itself did, and a few bytes for each wave.

    :raises InputError: if the folder holds no run, one that has answered nothing or lacks turns that it had answered,
        or a response that is none.
    """
    path = folder / JOURNAL
    if not path.is_file():
        what = f"it has no {JOURNAL}" if folder.is_dir() else "there is no such folder"
        raise InputError(f"{folder}: no run: {what}. Wanted is the folder that convqa run wrote.")
    turns = _turns_of_whole_run(folder)
    waves: dict[int, list[tuple[int, int, int]]] = {}
    for _, lines in whole_waves(path):
        offset, first = lines[0]
        group, number, size = first["batch"]
        waves.setdefault(group, []).append((number, offset, size))
    if not waves:
        raise InputError(f"{path}: holds no response yet. Run again to go on with it.")
    held = sum(size for found in waves.values() for _, _, size in found)
    if turns is not None and held < turns:
        raise InputError(
            f"{path}: holds {held} of the {turns} turns that the run answered. Run again: it answers the rest."
        )
    with path.open("rb") as file:
        for group in sorted(waves):
            yield from _conversations(path, file, sorted(waves[group]))


def _conversations(path: Path, file: BinaryIO, waves: list[tuple[int, int, int]]) -> Iterator[Response]:
    """The responses of one group, by conversation. ``waves``: (number, offset, responses), by number."""
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
            f"{path}: turn {turn} is not as convqa run writes it ({type(error).__name__}: {error}). Run with --restart."
        ) from None


def _turns_of_whole_run(folder: Path) -> int | None:
    """How many turns a run answered; None, and a warning, where it has not ended, or nobody noted it."""
    meta = folder / META
    if not meta.is_file():
        return None
    found = read_json(meta, "what convqa run notes about a run")
    if not isinstance(found, dict):
        raise InputError(f"{meta}: wanted what convqa run notes about a run, an object. Run again.")
    if found.get("status") != "done":
        what = "is a shard of a run (convqa merge makes the run)" if found.get("status") == SHARD else "is not finished"
        logger.warning(
            "%s: this run %s; what it has answered so far is read. trec-rag and jwhr name a turn by its "
            "conversation where that has one turn, which further turns change",
            folder, what,
        )  # fmt: skip
        return None
    counts = found.get("counts")
    turns = counts.get("turns") if isinstance(counts, dict) else None
    return turns if isinstance(turns, int) else None


def task_of(folder: Path) -> str:
    """The name of the task that a run answers; "" if its folder does not say."""
    meta = read_json(folder / META, "what convqa run notes about a run") if (folder / META).is_file() else {}
    mark = meta.get("fingerprint") if isinstance(meta, dict) else None
    return str(mark.get("task", "")) if isinstance(mark, dict) else ""
