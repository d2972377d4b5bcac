"""``convqa ask``: one question, answered with numbered citations."""

from __future__ import annotations

import gc
from typing import Annotated

import typer

from convqa.cli.app import command
from convqa.cli.options import Filters, LlmPipelineOptions, PipelineName, accepted, print_json
from convqa.errors import InputError, WorkError


@command
def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    pipeline: PipelineName = "talk",
    *,
    options: LlmPipelineOptions,
    filters: Filters = None,
    json: Annotated[bool, typer.Option("--json", help="Print the full response as JSON.")] = False,
) -> None:
    """Answer one question, with numbered citations.

    The cited passages are listed below the answer. An answer with a low score begins with "Not sure". If no passage
    answers the question, the nearest passages are listed.
    """
    if not question.strip():
        raise InputError('the question is empty: write it in quotes, as in convqa ask "Who wrote Faust?"')
    gc.disable()  # collecting cycles takes a tenth of the time of a single question
    from convqa.cli.screen import Screen, failed, lines

    response = options.load(pipeline).conversation().ask(question, accepted(filters))
    if response.error is not None:
        raise WorkError(failed(response.error))
    if json:
        print_json(response.to_json())
    else:
        screen = Screen()
        screen.show(lines(response, screen))
