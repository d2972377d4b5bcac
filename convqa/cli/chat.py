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
    scenario: Annotated[str, typer.Option("--scenario", help="What to tell the system about yourself first.")] = "",
) -> None:
    """Hold a conversation, one question per line.

    Earlier questions and answers are the context of the next question. If the system asks a question back, answer it on
    the next line. Type /help for a list of commands. If standard input is not a terminal, its lines are the questions,
    and a transcript is printed.
    """
    from convqa.cli.conversation import Chat

    Chat(options.load, pipeline, scenario).hold()
