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
    json: Annotated[bool, typer.Option("--json", help="Print the whole response as JSON.")] = False,
) -> None:
    """Answer one question from a collection, with numbered citations and the passages that they point to.

    "Not sure" stands before an answer of a low score. Where the passages do not seem to answer, the nearest are named.
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
