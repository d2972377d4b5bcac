"""``convqa view``: show contexts with their questions, the answers marked."""

from __future__ import annotations

import io
import os
import re
import sys
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from convqa.cli.app import command
from convqa.errors import InputError

if TYPE_CHECKING:
    from convqa.tasks.mrqa.contexts import Context, Question

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
    start: Annotated[int, typer.Option(min=1, help="Number of the first context to show.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Number of contexts to show.")] = None,
    qid: Annotated[
        list[str] | None, typer.Option("--qid", metavar="ID", help="Show only this question. Repeatable.")
    ] = None,
) -> None:
    """Show MRQA contexts with their answers marked.

    An answer is marked »like this«[1], with the number of its question. On a terminal, the output is paged, and colored
    unless NO_COLOR is set.
    """
    import click

    from convqa.tasks.mrqa.input import read_contexts

    if isinstance(sys.stdout, io.TextIOWrapper):  # other encodings than UTF-8 print question marks
        sys.stdout.reconfigure(errors="replace")
    colour = not os.environ.get("NO_COLOR")
    numbered = islice(enumerate(read_contexts(file), 1), start - 1, None)
    chosen = islice(_asking(numbered, qid), limit)
    first = next(chosen, None)
    if first is None:
        missing = f"question {' or '.join(qid)} after it" if qid else "such context"
        raise InputError(f"{file}: --start {start}: there is no {missing}.")

    def pages() -> Iterator[str]:
        yield _header(file)
        yield page(*first, colour)
        for numbered_context in chosen:
            yield "\n\n" + page(*numbered_context, colour)

    click.echo_via_pager(pages(), color=None if colour else False)


def page(number: int, context: Context, colour: bool = False) -> str:
    """Format a context: a heading, the text with its answers marked, and the questions with their answers."""
    title = f": {_plain(context.title)}" if context.title else ""
    heading = f"===== Context {number}{title} ====="
    text = "".join(_segment(text, asked, colour) for text, asked in segments(context)).strip("\n")
    questions = [_question(place, question) for place, question in enumerate(context.questions, 1)]
    return "\n\n".join([heading, text, *questions])


def segments(context: Context) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Split the text where answers begin or end. Yield each piece with the numbers of the questions that it answers."""
    places = [_united(question.spans) for question in context.questions]
    borders = sorted({0, len(context.text), *(border for spans in places for span in spans for border in span)})
    for start, end in pairwise(borders):
        yield (
            context.text[start:end],
            tuple(n for n, spans in enumerate(places, 1) if any(s <= start and end <= e for s, e in spans)),
        )


def _united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge overlapping spans of a question."""
    united: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if united and start < united[-1][1]:
            united[-1] = united[-1][0], max(end, united[-1][1])
        else:
            united.append((start, end))
    return united


def _segment(text: str, asked: tuple[int, ...], colour: bool) -> str:
    shown = _STRUCTURE.sub(lambda mark: _AS[mark[1]], _plain(text))
    if not asked:
        return shown
    numbers = ",".join(map(str, asked))
    if colour:  # line by line because pagers reset colours at the end of a line
        styled = (typer.style(line, fg="red", bold=True, underline=True) if line else "" for line in shown.split("\n"))
        shown = "\n".join(styled)
    return f"»{shown}«[{numbers}]"


def _question(number: int, question: Question) -> str:
    answers = " | ".join(dict.fromkeys(map(_plain, question.answers))) or "none: it cannot be answered"
    nowhere = " (nowhere in the text)" if question.answers and not question.spans else ""
    return f"[{number}] {_plain(question.text)}\n    id: {_plain(question.id)}\n    answers: {answers}{nowhere}"


def _plain(text: str) -> str:
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def _asking(contexts: Iterable[tuple[int, Context]], qids: list[str] | None) -> Iterator[tuple[int, Context]]:
    """Yield the contexts that have questions with these ids, with these questions only."""
    from dataclasses import replace

    for number, context in contexts:
        kept = tuple(question for question in context.questions if qids is None or question.id in qids)
        if kept or qids is None:
            yield number, replace(context, questions=kept)


def _header(path: Path) -> str:
    """Return the header of an MRQA file as text, "" without one."""
    import orjson

    from convqa.tasks.files import read_start

    line = read_start(path, "contexts", 10_000)[0].removeprefix(BOM_UTF8).partition(b"\n")[0]
    try:
        header = orjson.loads(line)["header"].items()
    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError):
        return ""
    return f"{path}: {', '.join(_plain(f'{key} {value}') for key, value in header)}\n\n"
