"""A conversation that was held, as evaluation data: questions.json and run.json."""

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
from convqa.tasks.qrecc import input, run

FILES = (input.FILE, run.FILE)
_STAGES = frozenset({"rewrites", "rankings", "answers"})


def write(turns: Iterable[tuple[str, Response]], directory: Path) -> list[Path]:
    """Write questions and their responses as conversation 1, turns counted from 1; both files."""
    named = [(question, replace(made, id=TurnId(1, number))) for number, (question, made) in enumerate(turns, 1)]
    questions = ({"Conversation_no": 1, "Turn_no": made.id.number, "Question": question} for question, made in named)
    return [
        write_members(directory / input.FILE, map(to_json_bytes, questions), b"[]"),
        run.write((made for _, made in named), directory, _STAGES),
    ]


def zipped(turns: Iterable[tuple[str, Response]]) -> bytes:
    """The same in a ZIP file."""
    data = io.BytesIO()
    with TemporaryDirectory() as folder, zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in write(turns, Path(folder)):
            archive.write(file, file.name)
    return data.getvalue()
