"""``convqa chat``: a conversation in the terminal, one question a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from convqa.cli.app import command
from convqa.cli.options import (
    AllowDownload,
    Collection,
    Device,
    LlmModel,
    LlmName,
    LlmRole,
    PipelineName,
    Precision,
    Settings,
    llm_of,
    options_of,
    parsed,
)

if TYPE_CHECKING:
    from convqa.qa import QA


@command
def chat(
    pipeline: PipelineName = "talk",
    collection: Collection = None,
    settings: Settings = None,
    llm: LlmName = None,
    llm_model: LlmModel = None,
    llm_role: LlmRole = None,
    device: Device = "auto",
    precision: Precision = "auto",
    scenario: Annotated[str, typer.Option("--scenario", help="What you say of yourself beforehand.")] = "",
    allow_download: AllowDownload = False,  # noqa: ARG001 - the option itself permits
) -> None:
    """Hold a conversation over a collection: one question a line.

    Each is answered as ask does, with what was said before in mind; what the system asks back is answered in the next
    line. /help lists what else can be typed. Without a terminal the lines of standard input are the questions, and a
    transcript is printed.
    """
    from convqa.cli.conversation import Chat
    from convqa.qa import load

    def qa(name: str) -> QA:
        model, options = llm_of(llm, llm_model, llm_role), options_of(device, precision)
        return load(name, collection, parsed(settings), model, options=options)

    Chat(qa, pipeline, scenario).hold()
