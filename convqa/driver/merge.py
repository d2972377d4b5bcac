"""Merge the shards of a run: concatenate their journals and write the run file."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.driver.fingerprint import differences
from convqa.driver.folder import RESOLVED, SHARD, begin, finish, read_meta
from convqa.driver.history import checked, in_language
from convqa.driver.intake import Intake
from convqa.driver.journal import JOURNAL, Journal
from convqa.driver.run import locked, write_run
from convqa.driver.summary import RunSummary
from convqa.errors import InputError
from convqa.files import whole_file
from convqa.pipeline.merge import resolve
from convqa.tasks import find_task
from convqa.workers.shard import Shard


@dataclass(frozen=True, slots=True)
class FinishedShard:
    """A shard's folder, its run.meta.json and the fingerprint of the whole run."""

    folder: Path
    shard: Shard
    meta: dict[str, Any]
    mark: dict[str, Any]


def merge(
    output: Path,
    folders: Sequence[Path],
    input_path: Path | None = None,
    restart: bool = False,
) -> RunSummary:
    """Write the run folder of a run that was answered in shards.

    :param input_path: the input; None = the path that the shards noted.
    :raises InputError: unless the folders are all finished shards of one run over this input.
    """
    shards = sorted((_read(folder) for folder in folders), key=lambda finished: finished.shard.number)
    _check(shards)
    first = shards[0]
    mark = first.mark
    language = first.meta["language"]
    if output.resolve() in [finished.folder.resolve() for finished in shards]:
        raise InputError(f"output {output}: is one of the shards. Give a folder for the run.")
    source = input_path or Path(first.meta["input"])
    if not source.exists():
        raise InputError(f"input {source}: no longer exists. Name it with --input.")
    task = find_task(mark["task"], source)
    document = resolve(first.folder / RESOLVED, trusted=False)
    conversations = checked(itertools.islice(task.read(source), mark["limit"]), mark["history"])
    with locked(output), closing(Intake(in_language(conversations, language), output)) as intake:
        if intake.digest != mark["input"]:
            raise InputError(f"input {source}: differs from the input of the shards. Name that with --input.")
        meta = begin(output, mark, document, task.run_file, restart, source, language)
        with whole_file(output / JOURNAL) as journal_file:
            for finished in shards:
                with (finished.folder / JOURNAL).open("rb") as part:
                    shutil.copyfileobj(part, journal_file)
        with closing(Journal(output / JOURNAL)) as journal:
            for turn in intake.turns_in_order():
                if journal.get(turn.id) is None:
                    raise InputError(f"turn {turn.id}: not answered by any shard. Run them again to complete them.")
            summary = RunSummary(intake.conversations, given=journal.given, own=journal.own)
            write_run(summary, task, output, frozenset(document.outputs), intake, journal)
        summary.seconds = sum(finished.meta["seconds"] for finished in shards)
        finish(output, meta, summary.to_json())
    return summary


def _read(folder: Path) -> FinishedShard:
    """:raises InputError: unless the folder holds a finished shard."""
    meta = read_meta(folder)
    mark = dict(meta.get("fingerprint", {}))
    if "shard" not in mark:
        raise InputError(f"shard {folder}: expected a folder written by convqa run --shard.")
    if meta.get("status") != SHARD:
        raise InputError(f"shard {folder}: is not finished. Give its command again to continue it.")
    return FinishedShard(folder, Shard.parse(mark.pop("shard")), meta, mark)


def _check(shards: Sequence[FinishedShard]) -> None:
    """:raises InputError: unless these are all the shards of one run."""
    first = shards[0]
    for other in shards[1:]:
        changed = differences(first.mark, other.mark)
        if changed:
            raise InputError(f"shard {other.folder}: differs from {first.folder} in: {', '.join(changed)}.")
    count = first.shard.count
    given = [finished.shard for finished in shards]
    if given != [Shard(number, count) for number in range(1, count + 1)]:
        raise InputError(f"expected each of the {count} shards once, got {', '.join(map(str, given))}.")
