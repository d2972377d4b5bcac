"""``convqa ask``: one question, answered with numbered citations."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from shutil import get_terminal_size
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Annotated

import typer

from convqa.cli.app import command
from convqa.cli.options import (
    AllowDownload,
    Collection,
    Filters,
    LlmModel,
    LlmName,
    LlmRole,
    PipelineName,
    Settings,
    accepted,
    llm_of,
    parsed,
    print_json,
)
from convqa.errors import WorkError

AROUND = 80
"""Characters of a passage that are shown on either side of a cited place."""

NEAREST = 66
"""Characters that a nearest passage is named by: the line has 80 with what stands before."""

_INDENT = re.compile(r"^\s*(?:\d{1,2}\. |- )?")
"""What lines that go on begin below: an item of a list stands out."""

if TYPE_CHECKING:
    from convqa.domain import Answer, Citation, Failure, Response


@command
def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    pipeline: PipelineName = "talk",
    collection: Collection = None,
    settings: Settings = None,
    llm: LlmName = None,
    llm_model: LlmModel = None,
    llm_role: LlmRole = None,
    filters: Filters = None,
    allow_download: AllowDownload = False,  # noqa: ARG001 - the option itself permits
    json: Annotated[bool, typer.Option("--json", help="Print the whole response as JSON.")] = False,
) -> None:
    """Answer one question from a collection, with numbered citations and the passages that they point to.

    "Not sure" stands before an answer of a low score. Where the passages do not seem to answer, the nearest are named.
    """
    from convqa.qa import load

    response = (
        load(pipeline, collection, parsed(settings), llm_of(llm, llm_model, llm_role))
        .conversation()
        .ask(question, accepted(filters))
    )
    if response.error is not None:
        raise WorkError(failed(response.error))
    if json:
        print_json(response.to_json())
    else:
        show(lines(response))


def show(lines: Iterable[str]) -> None:
    """Print lines, broken between words at the width of a terminal; whole where a program reads them."""
    width = get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in lines:
        indent = " " * (len(line) - len(_INDENT.sub("", line)))
        typer.echo(fill(line, width, subsequent_indent=indent, break_on_hyphens=False) if width else line)


def failed(failure: Failure) -> str:
    """The message for a turn that failed."""
    return f"{failure.stage} failed: {failure.error}: {failure.message}. -v shows where in the code."


def lines(response: Response, brief: bool = False) -> list[str]:
    """The rewritten question, the answer with ``[n]`` behind each sentence, and the places that the numbers point to.

    Without an answer the nearest passages are named; where nothing was asked, nothing is.

    :param brief: each passage is named once, and the text of a place is shown only where the answer is not that text.
    """
    from convqa.domain import TOLD, UNSURE
    from convqa.exports.text import escape

    if response.rewrite is not None and not response.rewrite.queries:
        return ["Nothing to look up. Ask whenever you like."]
    shown = []
    if response.rewrite is not None and response.added:
        text = response.rewrite.text
        for start, end in reversed(response.added):
            text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
        shown = [f"Understood as: {escape(text)}", ""]
    if response.caveat:
        shown += [escape(response.caveat), ""]
    answer = response.answer
    if answer is None or answer.kind == "none":
        return [*shown, *_nearest(response, answer)]
    said, *places = _said(response, answer, brief)
    if answer.kind == "question":
        return [*shown, f"Asked back: {said}", *places]
    if TOLD in answer.notes:
        said = f"As said before: {said}"
    if UNSURE in answer.notes:
        said = f"Not sure: {said}"
    return [*shown, said, *places]


def _nearest(response: Response, answer: Answer | None) -> Iterator[str]:
    """The reason why there is no answer, and the nearest passages, each by its title and first words."""
    from convqa.exports.text import escape

    hits = response.ranking.hits if response.ranking else ()
    passages = {hit.id: hit.passage for hit in hits if hit.passage is not None}
    yield f"No answer: {escape(answer.reason if answer else 'this pipeline has no builder')}."
    for id in answer.nearest if answer else [hit.id for hit in hits[:3]]:
        passage = passages.get(id)
        words = id if passage is None else f"{passage.title}: {passage.text}" if passage.title else passage.text
        yield f"    nearest: {escape(shorten(words, NEAREST, placeholder=' ...'))}"


def _said(response: Response, answer: Answer, brief: bool) -> list[str]:
    """The sentences with their numbers, and the places as in the export."""
    from convqa.exports import CitedAnswer
    from convqa.exports.text import escape, heading, laid_out, marked, numbered

    hits = response.ranking.hits if response.ranking else ()
    passages = {hit.id: hit.passage for hit in hits if hit.passage is not None}
    cited, numbers = CitedAnswer.of(response), numbered(answer)
    shown = [*laid_out(marked(sentence, numbers) for sentence in cited.said()), ""]
    if brief:
        for id in dict.fromkeys(citation.passage_id for citation in numbers):
            own = {citation: number for citation, number in numbers.items() if citation.passage_id == id}
            first, *more = heading(0, next(iter(own)), cited)
            shown += ["".join(f"[{number}]" for number in own.values()) + first.removeprefix("[0]"), *more]
            quoted = (citation for citation in own if cited.quotes[citation] not in answer.text)
            shown += [f"    {escape(_excerpt(passages[id].text, citation))}" for citation in quoted if id in passages]
        return shown
    for citation, number in numbers.items():
        shown += heading(number, citation, cited)
        if citation.passage_id in passages:
            shown.append(f"    {escape(_excerpt(passages[citation.passage_id].text, citation))}")
    return shown


def _excerpt(text: str, citation: Citation) -> str:
    """The cited characters between » and «, with a little of the text around them, on one line."""
    if citation.start is None or citation.end is None:
        return " ".join(text[: 2 * AROUND].split())
    before, after = text[max(0, citation.start - AROUND) : citation.start], text[citation.end : citation.end + AROUND]
    left = "..." if citation.start > AROUND else ""
    right = "..." if citation.end + AROUND < len(text) else ""
    return " ".join(f"{left}{before}»{text[citation.start : citation.end]}«{after}{right}".split())
