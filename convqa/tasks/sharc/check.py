"""Every format error of a predictions.json at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from convqa.files import read_json
from convqa.tasks.base import Problem, id_problems, problems
from convqa.tasks.files import file_at
from convqa.tasks.sharc import run
from convqa.tasks.sharc.input import read_records, source


def check(run_path: Path, input_path: Path) -> list[Problem]:
    """All problems of a run (a directory or the file) that answers the utterances at ``input_path``.

    :raises InputError: if the utterances themselves cannot be read.
    """
    asked = [placed.record.utterance_id for placed in read_records(source(input_path))]

    def wrong(file: Path) -> Iterator[tuple[str, str]]:
        records = read_json(file, run.WANTED)
        yield from run.problems(records)
        if isinstance(records, list):
            ids = dict.fromkeys(str(record.get("utterance_id")) for record in records if isinstance(record, dict))
            yield from id_problems("utterances", dict.fromkeys(asked), ids)

    return problems(file_at(run_path, run.FILE), wrong)
