"""``convqa chat``: a conversation in the terminal, one question a line."""

from __future__ import annotations

from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.cli.options import LlmPipelineOptions, PipelineName


@command
def chat(
    pipeline: PipelineName = "talk",
    *,
    options: LlmPipelineOptions,
    scenario: Annotated[str, typer.Option("--scenario", help="What you say of yourself beforehand.")] = "",
) -> None:
    """Hold a conversation over a collection: one question a line.

    Each is answered as ask does, with what was said before in mind; what the system asks back is answered in the next
    line. /help lists what else can be typed. Without a terminal the lines of standard input are the questions, and a
    transcript is printed.
    """
    from convqa.cli.conversation import Chat

    Chat(options.load, pipeline, scenario).hold()
