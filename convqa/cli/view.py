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

import typer

from convqa.cli.app import command
from convqa.errors import InputError

if TYPE_CHECKING:
    from convqa.tasks.mrqa.formats import Context, Question

_STRUCTURE = re.compile(r"(?:(?<!\s)\s+)?\[(TLE|DOC|PAR)\]\s*")  # begins at a run's first blank: time is linear
_AS = {"TLE": "\n# ", "DOC": "\n\n---\n", "PAR": "\n\n"}
"""How MRQA's marks are shown: a title, a document boundary, a paragraph."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that could control a terminal, except line ends and tabs."""


@command
def view(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="MRQA JSON lines (plain or gzip), or JSON in SQuAD format.")
    ],
    limit: Annotated[int | None, typer.Option(min=1, help="Number of contexts to show.")] = None,
    qid: Annotated[
        list[str] | None, typer.Option("--qid", metavar="ID", help="Show only this question. Repeatable.")
    ] = None,
) -> None:
    """Show MRQA contexts with their answers marked.

    An answer is marked »like this«[1], with the number of its question. On a terminal, the output is paged.
    """
    import click

    from convqa.tasks.mrqa.input import read_contexts

    if isinstance(sys.stdout, io.TextIOWrapper):  # other encodings than UTF-8 print question marks
        sys.stdout.reconfigure(errors="replace")
    chosen = islice(_asking(read_contexts(file), qid), limit)
    first = next(chosen, None)
    if first is None:
        raise InputError(f"{file}: no context has question {' or '.join(qid or ())}.")
    click.echo_via_pager(chain([page(*first)], (f"\n\n{page(*numbered)}" for numbered in chosen)))


def page(number: int, context: Context) -> str:
    """Format a context: a heading, the text with its answers marked, and the questions with their answers."""
    title = f": {_plain(context.title)}" if context.title else ""
    heading = f"===== Context {number}{title} ====="
    text = "".join(_segment(text, asked) for text, asked in segments(context)).strip("\n")
    questions = [_question(place, question) for place, question in enumerate(context.questions, 1)]
    return "\n\n".join([heading, text, *questions])


def segments(context: Context) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Split the text where answers begin or end. Yield each piece with the numbers of the questions that it answers."""
    places = [question.spans for question in context.questions]
    borders = sorted({0, len(context.text), *(border for spans in places for span in spans for border in span)})
    for start, end in pairwise(borders):
        yield (
            context.text[start:end],
            tuple(n for n, spans in enumerate(places, 1) if any(s <= start and end <= e for s, e in spans)),
        )


def _segment(text: str, asked: tuple[int, ...]) -> str:
    shown = _STRUCTURE.sub(lambda mark: _AS[mark[1]], _plain(text))
    return f"»{shown}«[{','.join(map(str, asked))}]" if asked else shown


def _question(number: int, question: Question) -> str:
    answers = " | ".join(dict.fromkeys(map(_plain, question.answers))) or "none: it cannot be answered"
    nowhere = " (nowhere in the text)" if question.answers and not question.spans else ""
    return f"[{number}] {_plain(question.text)}\n    id: {_plain(question.id)}\n    answers: {answers}{nowhere}"


def _plain(text: str) -> str:
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def _asking(contexts: Iterable[Context], qids: list[str] | None) -> Iterator[tuple[int, Context]]:
    """Yield the numbers of contexts that have questions with these ids, and the contexts with these questions only."""
    for number, context in enumerate(contexts, 1):
        kept = tuple(question for question in context.questions if qids is None or question.id in qids)
        if kept or qids is None:
            yield number, replace(context, questions=kept)
