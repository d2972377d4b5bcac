"""``convqa feedback``: what people think of a server's answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from convqa.cli.app import group
from convqa.errors import InputError, counted

feedback = group("feedback", "Export what people think of a server's answers.")


@feedback("export")
def export_feedback(
    source: Annotated[
        str,
        Argument(metavar="SOURCE", help="The server's collection, or its conversations file (.sqlite)."),
    ],
    output: Annotated[Path, Argument(metavar="OUTPUT", help="File to write, such as feedback.jsonl.")],
) -> None:
    """Write rated turns as JSON lines, which convqa run takes as an input.

    A line has the question, the conversation before it, its rewrite, the answer, the ids of the cited passages, and the
    verdict (good or bad) with a comment.
    """
    from convqa.files import to_json_bytes, whole_file
    from convqa.indexing import collection_of
    from convqa.server.conversations import Conversations, file_for
    from convqa.server.feedback import records

    file = Path(source if source.endswith(".sqlite") else file_for([collection_of(source)]))
    if not file.is_file():
        raise InputError(f"{source}: no conversation has been kept. Expected a collection or a conversations file.")
    lines = [to_json_bytes(record) for record in records(Conversations(str(file)))]
    with whole_file(output) as stream:
        stream.writelines(line + b"\n" for line in lines)
    typer.echo(f"{output}: {counted(len(lines), 'rated turns')}")
