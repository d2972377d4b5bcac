"""``convqa feedback``: what people think of a server's answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from convqa.cli.app import group
from convqa.errors import InputError

feedback = group("feedback", "Export what people think of a server's answers.")


@feedback("export")
def export_feedback(
    output: Annotated[Path, Argument(metavar="OUTPUT", help="File to write, such as feedback.jsonl.")],
    collection: Annotated[
        list[str] | None,
        Option("--collection", help="The server's collection. Repeatable, if it serves several."),
    ] = None,
    conversations: Annotated[
        Path | None,
        Option("--conversations", metavar="FILE", help="The server's conversations file, if its settings name one."),
    ] = None,
) -> None:
    """Write rated turns as JSON lines, which convqa run takes as an input.

    A line has the question, the conversation before it, its rewrite, the answer, the ids of the cited passages, and the
    verdict (good or bad) with a comment.
    """
    from convqa.files import to_json_bytes, whole_file
    from convqa.server.conversations import Conversations, file_for
    from convqa.server.feedback import records

    if (collection is None) == (conversations is None):
        raise InputError("expected either --collection or --conversations.")
    file = str(conversations) if conversations else file_for(collection or ())
    if not Path(file).is_file():
        raise InputError(f"{file}: there is no such file; no conversation has been kept.")
    kept = Conversations(file)
    count = 0
    with whole_file(output) as lines:
        for record in records(kept):
            lines.write(to_json_bytes(record) + b"\n")
            count += 1
    kept.close()
    typer.echo(f"{output}: {count} rated turns")
