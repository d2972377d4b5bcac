"""``convqa ask`` and ``convqa chat``: one question, or a conversation, in the terminal."""

from __future__ import annotations

import gc
from typing import Annotated

import typer
from typer import Argument, Option

from convqa.cli.app import command
from convqa.cli.options import Json, PipelineName, PipelineOptions, parse_settings, print_json
from convqa.errors import InputError, WorkError


@command
def ask(
    question: Annotated[str, Argument(help="The question, in quotes; - reads it from standard input.")],
    pipeline: PipelineName = "talk",
    *,
    options: PipelineOptions,
    filters: Annotated[
        list[str] | None,
        Option(
            "--filter",
            metavar="FIELD=VALUE",
            help="Search only passages whose meta field has this value, or one of a list: 'year=[2001, 2002]'.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Answer one question, with numbered citations.

    The cited passages are listed below the answer. An answer with a low score begins with "Not sure". If no passage
    answers the question, the nearest passages are listed.
    """
    if question == "-":
        question = typer.get_text_stream("stdin", errors="replace").read().strip()
    if not question.strip():
        raise InputError('the question is empty: write it in quotes, as in convqa ask "Who wrote Faust?"')
    gc.disable()  # collecting cycles takes a tenth of the time of a single question
    from convqa.cli.screen import Screen, failure_message, response_lines

    response = options.load(pipeline).conversation().ask(question, parse_settings(filters, "FIELD", "--filter"))
    if response.error is not None:
        raise WorkError(failure_message(response.error))
    if json:
        print_json(response.to_json())
    else:
        screen = Screen()
        screen.show(response_lines(response, screen))


@command
def chat(
    pipeline: PipelineName = "talk",
    *,
    options: PipelineOptions,
    scenario: Annotated[str, Option("--scenario", help="What to tell the system about yourself first.")] = "",
) -> None:
    """Hold a conversation, one question per line.

    Earlier questions and answers are the context of the next question. If the system asks a question back, answer it on
    the next line. Type /help for a list of commands. If standard input is not a terminal, its lines are the questions,
    and a transcript is printed.
    """
    from convqa.cli.conversation import Chat
    from convqa.cli.screen import Screen

    screen = Screen()
    with screen.status(f"Loading {pipeline}"):
        talk = options.load(pipeline).conversation(scenario=scenario)
    Chat(screen, talk).hold()
