"""``convqa view``: show contexts with their questions, the answers marked."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from convqa.cli.app import command
from convqa.errors import InputError

if TYPE_CHECKING:
    from convqa.tasks.mrqa.formats import Context, Question

_STRUCTURE = re.compile(r"(?:(?<!\s)\s+)?\[(TLE|DOC|PAR)\]\s*")  # begins at a run's first blank: time is linear
_MARKDOWN = {"TLE": "\n# ", "DOC": "\n\n---\n", "PAR": "\n\n"}
"""MRQA's marks of a title, a document boundary and a paragraph, as Markdown."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that could control a terminal, except line ends and tabs."""


@command
def view(
    file: Annotated[Path, Argument(metavar="FILE", help="MRQA JSON lines (plain or gzip), or JSON in SQuAD format.")],
    limit: Annotated[int | None, Option(min=1, help="Number of contexts to show.")] = None,
    qid: Annotated[list[str] | None, Option("--qid", metavar="ID", help="Show only this question. Repeatable.")] = None,
) -> None:
    """Show MRQA contexts with their answers marked.

    An answer is marked »like this«[1], with the number of its question. On a terminal, the output is paged.
    """
    import click

    from convqa.tasks.mrqa.input import read_contexts

    if isinstance(sys.stdout, io.TextIOWrapper):  # other encodings than UTF-8 print question marks
        sys.stdout.reconfigure(errors="replace")
    contexts = islice(_with_questions(read_contexts(file), qid), limit)
    first = next(contexts, None)
    if first is None:
        raise InputError(f"{file}: no context has question {' or '.join(qid or ())}.")
    others = (f"\n\n{page(number, context)}" for number, context in contexts)
    click.echo_via_pager(chain([page(*first)], others))


def page(number: int, context: Context) -> str:
    """Format a context: a heading, the text with its answers marked, and the questions with their answers."""
    title = f": {_plain(context.title)}" if context.title else ""
    heading = f"===== Context {number}{title} ====="
    text = "".join(_segment(text, answered) for text, answered in segments(context)).strip("\n")
    questions = [_question(number, question) for number, question in enumerate(context.questions, 1)]
    return "\n\n".join([heading, text, *questions])


def segments(context: Context) -> Iterator[tuple[str, list[int]]]:
    """Split the text where answers begin or end. Yield each piece with the numbers of the questions that it answers."""
    borders = {0, len(context.text)}
    for question in context.questions:
        borders.update(chain.from_iterable(question.spans))
    for start, end in pairwise(sorted(borders)):
        answered = [
            number
            for number, question in enumerate(context.questions, 1)
            if any(first <= start and end <= last for first, last in question.spans)
        ]
        yield context.text[start:end], answered


def _segment(text: str, answered: list[int]) -> str:
    markdown = _STRUCTURE.sub(lambda mark: _MARKDOWN[mark[1]], _plain(text))
    if not answered:
        return markdown
    return f"»{markdown}«[{','.join(map(str, answered))}]"


def _question(number: int, question: Question) -> str:
    answers = " | ".join(dict.fromkeys(map(_plain, question.answers))) or "none: it cannot be answered"
    nowhere = " (nowhere in the text)" if question.answers and not question.spans else ""
    return f"[{number}] {_plain(question.text)}\n    id: {_plain(question.id)}\n    answers: {answers}{nowhere}"


def _plain(text: str) -> str:
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def _with_questions(contexts: Iterable[Context], ids: list[str] | None) -> Iterator[tuple[int, Context]]:
    """Yield the numbers of contexts that have questions with these ids, and the contexts with these questions only."""
    for number, context in enumerate(contexts, 1):
        if ids is None:
            yield number, context
            continue
        questions = tuple(question for question in context.questions if question.id in ids)
        if questions:
            yield number, replace(context, questions=questions)
