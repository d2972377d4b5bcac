"""``convqa chat``: a conversation in the terminal, one question a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from convqa.cli.app import command
from convqa.cli.ask import failed, lines, show
from convqa.cli.options import (
    AllowDownload,
    Collection,
    LlmModel,
    LlmName,
    LlmRole,
    PipelineName,
    Settings,
    llm_of,
    parsed,
)

if TYPE_CHECKING:
    from convqa.domain import Response

NEW, QUIT = "/new", "/quit"
_COMMANDS = f"{NEW}, which starts a new conversation, and {QUIT}, which ends"


@command
def chat(
    pipeline: PipelineName = "talk",
    collection: Collection = None,
    settings: Settings = None,
    llm: LlmName = None,
    llm_model: LlmModel = None,
    llm_role: LlmRole = None,
    scenario: Annotated[str, typer.Option("--scenario", help="What you say of yourself beforehand.")] = "",
    allow_download: AllowDownload = False,  # noqa: ARG001 - the option itself permits
) -> None:
    """Hold a conversation over a collection: one question a line.

    Each is answered as ask does, with what was said before in mind; what the system asks back is answered in the next
    line. /new starts a new conversation, /quit or the end of the input ends.
    """
    from convqa.qa import load

    qa = load(pipeline, collection, parsed(settings), llm_of(llm, llm_model, llm_role))
    talk = qa.conversation(scenario=scenario)
    for line in _said():
        said = line.lower()
        if said == QUIT:
            return
        if said == NEW:
            talk = qa.conversation(scenario=scenario)
            typer.echo("A new conversation.\n")
        elif line.startswith("/"):
            typer.echo(f"{line.split()[0]} is unknown, and was not sent. There are {_COMMANDS}.\n", err=True)
        else:
            _show(talk.ask(line))


def _said() -> Iterator[str]:
    """The user's lines, but for empty ones; a terminal shows a prompt for each."""
    if not _is_terminal():
        for number, line in enumerate(typer.get_text_stream("stdin", errors="replace")):
            # Files that come from Windows begin with a mark of byte order.
            if text := (line if number else line.removeprefix("\ufeff")).strip():
                yield text
        return
    with suppress(ImportError):
        # With it a line can be edited, and an earlier one called back.
        import readline  # noqa: F401
    typer.echo(f"One question a line; {NEW} starts a new conversation, {QUIT} ends.")
    while True:
        try:
            line = input("> ").strip()
        except EOFError:
            typer.echo()
            return
        if line:
            yield line


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _show(response: Response) -> None:
    """The answer, or the question that is asked back, with its places; an error where the turn failed."""
    if response.error is not None:
        typer.echo(f"convqa: error: {failed(response.error)}", err=True)
        return
    show([*lines(response, brief=True), ""])
