"""``convqa ask``: one question, answered with numbered citations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from convqa.cli.app import command
from convqa.cli.options import AllowDownload, Collection, PipelineName, Settings
from convqa.errors import WorkError

AROUND = 80
"""Characters of a passage that are shown on either side of a cited place."""

if TYPE_CHECKING:
    from convqa.domain import Answer, Citation, Passage, Response


@command
def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    pipeline: PipelineName = "default",
    collection: Collection = None,
    settings: Settings = None,
    allow_download: AllowDownload = False,  # noqa: ARG001 - the option itself permits
) -> None:
    """Answer one question from a collection, with numbered citations and the passages that they point to."""
    from convqa.pipeline.compose import parse_settings
    from convqa.qa import load

    response = load(pipeline, collection, parse_settings(settings or [])).conversation().ask(question)
    if response.error is not None:
        raise WorkError(f"{response.error.stage} failed: {response.error.error}: {response.error.message}")
    for line in lines(response):
        typer.echo(line)


def lines(response: Response) -> list[str]:
    """The answer with ``[n]`` behind each sentence, then the passages that the numbers point to."""
    passages = {hit.id: hit.passage for hit in response.ranking.hits} if response.ranking else {}
    answer = response.answer
    if answer is None or answer.kind == "none":
        reason = answer.reason if answer else "this pipeline has no builder"
        nearest = answer.nearest if answer else tuple(list(passages)[:3])
        return [f"No answer: {reason}.", *(f"    nearest: {id}" for id in nearest)]
    numbers = _numbers(answer)
    said = [answer.text] if not answer.sentences else []
    for sentence in answer.sentences:
        marks = "".join(dict.fromkeys(f"[{numbers[citation.passage_id]}]" for citation in sentence.citations))
        said.append(f"{sentence.text} {marks}".rstrip())
    return [" ".join(said), "", *(_source(number, id, passages.get(id), answer) for id, number in numbers.items())]


def _numbers(answer: Answer) -> dict[str, int]:
    ids = dict.fromkeys(citation.passage_id for sentence in answer.sentences for citation in sentence.citations)
    return {id: number for number, id in enumerate(ids, 1)}


def _source(number: int, id: str, passage: Passage | None, answer: Answer) -> str:
    """One numbered source: title and id, address, and the cited places in their surroundings."""
    citations = [
        citation for sentence in answer.sentences for citation in sentence.citations if citation.passage_id == id
    ]
    title = f" {passage.title}" if passage is not None and passage.title else ""
    shown = [f"[{number}]{title} ({id})"]
    if passage is not None:
        shown += [f"    {passage.url}"] if passage.url else []
        shown += [f"    {_excerpt(passage.text, citation)}" for citation in citations]
    return "\n".join(shown)


def _excerpt(text: str, citation: Citation) -> str:
    """The cited characters between » and «, with a little of the text around them, on one line."""
    if citation.start is None or citation.end is None:
        return " ".join(text[: 2 * AROUND].split())
    before, after = text[max(0, citation.start - AROUND) : citation.start], text[citation.end : citation.end + AROUND]
    left = "..." if citation.start > AROUND else ""
    right = "..." if citation.end + AROUND < len(text) else ""
    return " ".join(f"{left}{before}»{text[citation.start : citation.end]}«{after}{right}".split())
