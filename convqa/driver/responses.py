"""Read the responses of a run folder as a stream."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import orjson

from convqa.domain import Response
from convqa.driver.folder import read_meta
from convqa.driver.journal import JOURNAL, whole_waves
from convqa.errors import InputError

logger = logging.getLogger(__name__)


def read_responses(folder: Path) -> Iterator[Response]:
    """Yield the responses of a run, conversation by conversation, in the order in which they were first answered.

    :raises InputError: if the folder holds no run, or an empty or damaged one.
    """
    path = folder / JOURNAL
    if not path.is_file():
        problem = f"it has no {JOURNAL}" if folder.is_dir() else "there is no such folder"
        raise InputError(f"{folder}: no run: {problem}. Expected a folder written by convqa run.")
    meta = read_meta(folder)
    status = meta.get("status", "done")
    if status != "done":
        logger.warning(
            "%s: the status of this run is %s; its answers so far are read",
            folder,
            status,
        )
    offsets: dict[tuple[int, int | str], list[int]] = {}
    count = 0
    for wave in whole_waves(path):
        for line in wave:
            group = line.record["batch"][0]
            offsets.setdefault((group, line.turn.conversation), []).append(line.start)
            count += 1
    if not count:
        raise InputError(f"{path}: holds no response yet. Run again to continue it.")
    turns = meta.get("counts", {}).get("turns", 0)
    if status == "done" and count < turns:
        raise InputError(f"{path}: holds {count} of the {turns} turns that the run answered. Run again for the rest.")
    with path.open("rb") as file:
        for conversation in sorted(offsets, key=lambda key: key[0]):  # by group, else as first answered
            for offset in offsets[conversation]:
                file.seek(offset)
                yield Response.from_json(orjson.loads(file.readline()))


def task_of(folder: Path) -> str:
    """Return the name of the task that a run answers, "" if unknown."""
    return str(read_meta(folder).get("fingerprint", {}).get("task", ""))
