"""Check a predictions.json: report all format errors at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from convqa.files import read_json
from convqa.tasks.base import id_problems
from convqa.tasks.sharc import run
from convqa.tasks.sharc.input import read_records, source


def problems(input_path: Path, file: Path) -> Iterator[tuple[str, str]]:
    """Yield (record or "" for the file, message) for a run over the utterances at ``input_path``."""
    asked = {utterance.record.utterance_id: None for utterance in read_records(source(input_path))}
    records = read_json(file, run.EXPECTED, official=True)
    yield from run.problems(records)
    if isinstance(records, list):
        ids = {str(record.get("utterance_id")): None for record in records if isinstance(record, dict)}
        yield from id_problems("utterances", asked, ids)
