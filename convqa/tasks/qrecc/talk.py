"""Save a conversation as evaluation data: questions.json and run.json."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from convqa.domain import Response, TurnId
from convqa.files import to_json_bytes
from convqa.tasks.files import write_members
from convqa.tasks.qrecc import input, run, schema

FILES = (input.FILE, run.FILE)
_STAGES = frozenset({"rewrites", "rankings", "answers"})


def write(turns: Iterable[tuple[str, Response]], directory: Path) -> list[Path]:
    """Write questions and their responses as conversation 1, with turns from 1, and return the paths of both files."""
    questions = []
    responses = []
    for number, (question, response) in enumerate(turns, 1):
        id = TurnId(1, number)
        questions.append(to_json_bytes(schema.turn_key(id) | {"Question": question}))
        responses.append(replace(response, id=id))
    return [
        write_members(directory / input.FILE, questions, b"[]"),
        run.write(responses, directory, _STAGES),
    ]


def zipped(turns: Iterable[tuple[str, Response]]) -> bytes:
    """Return both files in a ZIP archive."""
    data = io.BytesIO()
    with (
        TemporaryDirectory() as folder,
        zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for file in write(turns, Path(folder)):
            archive.write(file, file.name)
    return data.getvalue()
