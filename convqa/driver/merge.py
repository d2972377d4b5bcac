"""Merge the shards of a run: concatenate their journals and write the run file."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.driver.fingerprint import differences
from convqa.driver.folder import META, RESOLVED, SHARD, RunFolder
from convqa.driver.history import checked, in_language
from convqa.driver.intake import Intake
from convqa.driver.journal import JOURNAL, Journal, whole_waves
from convqa.driver.run import locked, write_run
from convqa.driver.summary import Summary
from convqa.errors import InputError
from convqa.files import read_json, whole_file
from convqa.pipeline.merge import resolve
from convqa.tasks import find_task
from convqa.workers.shard import Shard


@dataclass(frozen=True, slots=True)
class _Part:
    """A shard's folder, its run.meta.json and the fingerprint of the whole run."""

    folder: Path
    shard: Shard
    meta: dict[str, Any]
    mark: dict[str, Any]


def merge(output: Path, folders: Sequence[Path], input_path: Path | None = None, restart: bool = False) -> Summary:
    """Write the run folder of a run that was answered in shards.

    :param input_path: the input; None = the path that the shards noted.
    :raises InputError: unless the folders are all finished shards of one run over this input.
    """
    parts = sorted(map(_read, folders), key=lambda part: part.shard.number)
    _check(parts)
    first, mark = parts[0], parts[0].mark
    if any(output.resolve() == part.folder.resolve() for part in parts):
        raise InputError(f"output {output}: is one of the shards. Give a folder for the run.")
    source = input_path or Path(first.meta["input"])
    if not source.exists():
        raise InputError(f"input {source}: no longer exists. Name it with --input.")
    task = find_task(mark["task"], source)
    document = resolve(first.folder / RESOLVED, trusted=False)
    read = checked(itertools.islice(task.read(source), mark["limit"]), mark["history"])
    with locked(output), Intake(in_language(read, first.meta["language"]), output) as intake:
        if intake.digest != mark["input"]:
            raise InputError(f"input {source}: differs from the input of the shards. Name that with --input.")
        folder = RunFolder(output)
        folder.begin(mark, document, task.run_file, restart, source, first.meta["language"])
        _join(parts, folder.journal)
        journal = Journal(folder.journal)
        try:
            if lost := next((turn.id for turn in intake.turns_in_order() if turn.id not in journal), None):
                raise InputError(f"turn {lost}: not answered by any shard. Run the shards again to complete them.")
            summary = Summary(intake.conversations, given=journal.given, own=journal.own)
            write_run(summary, task, output, frozenset(document.outputs), intake, journal)
            summary.seconds = sum(part.meta["seconds"] for part in parts)
            folder.finish(summary.to_json())
        finally:
            journal.close()
    return summary


def _read(folder: Path) -> _Part:
    """:raises InputError: unless the folder holds a finished shard."""
    file = folder / META
    meta = read_json(file, "the metadata of a run") if file.is_file() else None
    if not isinstance(meta, dict) or "shard" not in meta.get("fingerprint", {}):
        raise InputError(f"shard {folder}: expected a folder written by convqa run --shard.")
    if meta.get("status") != SHARD:
        raise InputError(f"shard {folder}: is not finished. Give its command again to continue it.")
    mark = dict(meta["fingerprint"])
    return _Part(folder, Shard.parse(mark.pop("shard")), meta, mark)


def _check(parts: Sequence[_Part]) -> None:
    """:raises InputError: unless these are all the shards of one run."""
    first = parts[0]
    for part in parts[1:]:
        if changed := differences(first.mark, part.mark):
            raise InputError(f"shard {part.folder}: differs from {first.folder} in: {', '.join(changed)}.")
    count = first.shard.count
    if [part.shard for part in parts] != [Shard(number, count) for number in range(1, count + 1)]:
        given = ", ".join(str(part.shard) for part in parts)
        raise InputError(f"expected each of the {count} shards once, got {given}.")


def _join(parts: Iterable[_Part], target: Path) -> None:
    """Write the journal of all shards in order of groups."""
    waves: list[tuple[int, int, int, Path]] = []
    for part in parts:
        path, start = part.folder / JOURNAL, 0
        for end, lines in whole_waves(path) if path.exists() else ():  # a shard may have no conversations
            waves.append((lines[0][1]["batch"][0], start, end, path))
            start = end
    with whole_file(target) as out:
        for _, start, end, path in sorted(waves):
            with path.open("rb") as file:
                file.seek(start)
                out.write(file.read(end - start))
