"""Every format error of a predictions.json at once."""

from __future__ import annotations

from pathlib import Path

from convqa.errors import InputError
from convqa.files import read_json
from convqa.tasks.base import Problem, id_problems
from convqa.tasks.sharc import run
from convqa.tasks.sharc.input import read_records, source


def check(run_path: Path, input_path: Path) -> list[Problem]:
    """All problems of a run (a directory or the file) that answers the utterances at ``input_path``.

    :raises InputError: if the utterances themselves cannot be read.
    """
    file = run_path / run.FILE if run_path.is_dir() else run_path
    asked = dict.fromkeys(placed.record.utterance_id for placed in read_records(source(input_path)))
    try:
        records = read_json(file, run.WANTED)
    except InputError as error:
        return [Problem(str(file), "", str(error).removeprefix(f"{file}: "))]
    found = [Problem(str(file), place, message) for place, message in run.problems(records)]
    if isinstance(records, list):
        ids = dict.fromkeys(str(record.get("utterance_id")) for record in records if isinstance(record, dict))
        messages = [
            *id_problems("utterances of the input are missing", [id for id in asked if id not in ids], len(asked)),
            *id_problems("utterances are not in the input", [id for id in ids if id not in asked], len(ids)),
        ]
        found += [Problem(str(file), "", message) for message in messages]
    return found
