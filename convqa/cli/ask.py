"""``convqa ask``: one question, answered with numbered citations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from convqa.cli.app import command
from convqa.cli.options import AllowDownload, Collection, Settings, TalkPipeline, parsed
from convqa.errors import WorkError

AROUND = 80
"""Characters of a passage that are shown on either side of a cited place."""

if TYPE_CHECKING:
    from convqa.domain import Citation, Failure, Response


@command
def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    pipeline: TalkPipeline = "talk",
    collection: Collection = None,
    settings: Settings = None,
    allow_download: AllowDownload = False,  # noqa: ARG001 - the option itself permits
) -> None:
    """Answer one question from a collection, with numbered citations and the passages that they point to."""
    from convqa.qa import load

    response = load(pipeline, collection, parsed(settings)).conversation().ask(question)
    if response.error is not None:
        raise WorkError(failed(response.error))
    for line in lines(response):
        typer.echo(line)


def failed(failure: Failure) -> str:
    """The message for a turn that failed."""
    return f"{failure.stage} failed: {failure.error}: {failure.message}. -v shows where in the code."


def lines(response: Response) -> list[str]:
    """The answer with ``[n]`` behind each sentence, then the places that the numbers point to, as in the export."""
    from convqa.exports import CitedAnswer
    from convqa.exports.text import escape, heading, marked, numbered

    hits = response.ranking.hits if response.ranking else ()
    passages = {hit.id: hit.passage for hit in hits if hit.passage is not None}
    answer = response.answer
    if response.rewrite is not None and not response.rewrite.queries:
        return ["Nothing to look up. Ask whenever you like."]
    if answer is None or answer.kind == "none":
        reason = answer.reason if answer else "this pipeline has no builder"
        nearest = answer.nearest if answer else tuple(hit.id for hit in hits[:3])
        return [f"No answer: {escape(reason)}.", *(f"    nearest: {escape(id)}" for id in nearest)]
    cited, numbers = CitedAnswer.of(response), numbered(answer)
    shown = [" ".join(marked(sentence, numbers) for sentence in cited.said()), ""]
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
