"""Turns as text: styled and wrapped on a terminal, plain elsewhere."""

from __future__ import annotations

import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from textwrap import shorten

import typer
from rich.console import Console
from rich.status import Status
from rich.text import Text

from convqa.domain import Answer, Failure, Passage, Response
from convqa.exports import CitedAnswer, replies
from convqa.exports.cited import unit_at
from convqa.exports.text import escape, laid_out, marked, numbered, openings, table_lines
from convqa.text.quotes import shown_unit

_CONTEXT_CHARS = 80
"""Characters of context on either side of a citation."""

_MAX_COLUMNS = 100
_LINE_START = re.compile(r" *(?:\d{1,2}\. |- |/[a-z]+ \S* +|id: |url: |(?:\[\d+\])+ )?")
"""The indent of a wrapped line: leading blanks, a marker, a label or a command name."""
_NUMBER = re.compile(r"(?<!\\)\[\d+\]")
_MARKED = re.compile(r"\((?:not found in the passages|not checked)\b[^)]*\)")
_URL_START = re.compile(r".*://(?:www\.)?", re.S)
"""The part of a URL to omit. The URL of an archived page contains the original one."""


class Screen:
    """Standard output. ``styled``: whether it is a terminal with styles and NO_COLOR is not set."""

    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty()
        self._console = Console(force_terminal=self.is_terminal, markup=False, highlight=False, emoji=False)
        self.styled = not os.environ.get("NO_COLOR") and self._console.color_system is not None

    @property
    def width(self) -> int:
        """Maximum columns of a line; 0 = unlimited."""
        return min(self._console.width, _MAX_COLUMNS) if self.is_terminal else 0

    def mark(
        self,
        text: str,
        style: str,
        before: str = "",
        after: str = "",
    ) -> Text:
        """Return highlighted text: styled, or between the given marks where styles are off."""
        return Text.assemble((text, style)) if self.styled else Text(f"{before}{text}{after}")

    def show(self, lines: Iterable[Text | str]) -> None:
        """Print lines. A wrapped line is indented to its first word, a list item to the text after its marker."""
        for line in lines:
            if isinstance(line, str):
                line = Text(line)
            if not self.width:
                typer.echo(line.plain)
                continue
            match = _LINE_START.match(line.plain)
            indent = match.end() if match else 0
            if 2 * indent >= self.width:  # a narrow terminal
                indent = 0
            head, body = line.divide([indent])
            for part in body.wrap(self._console, self.width - len(head)):
                part.rstrip()
                self._console.print(head + part, soft_wrap=True)
                head = Text(" " * len(head))

    def status(self, doing: str) -> Status:
        """Return a temporary line that shows the current stage."""
        return self._console.status(f"{doing} ...", spinner="line", spinner_style="none")


def failure_message(failure: Failure) -> str:
    """Return the message for a failed turn."""
    return f"{failure.stage} failed: {failure.error}: {failure.message}. -v shows where in the code."


def response_lines(
    response: Response,
    screen: Screen,
    brief: bool = False,
) -> list[Text]:
    """Return the rewritten question, the answer with ``[n]`` after each sentence, and its sources.

    Without an answer, the nearest passages follow the reason.

    :param brief: show only the titles of the sources.
    """
    result: list[Text] = []
    answer = response.answer
    is_refused = answer is not None and answer.kind == "none"
    # A rewrite to which the passages have no answer is often wrong.
    if response.added and not is_refused:
        result += [rewrite_line(response, screen), Text()]
    if response.caveat:
        result += [screen.mark(escape(response.caveat), "yellow"), Text()]
    if answer is not None and (answer.sentences or answer.text):
        result += answer_lines(response, screen)
    if answer is None or (answer.kind == "none" and not answer.sentences):
        result += _nearest_lines(response, screen)
    sources = list(source_lines(response, screen, brief))
    if sources:
        result += [Text(), *sources]
    return result


def rewrite_line(response: Response, screen: Screen) -> Text:
    """Return the rewritten question with its added words marked."""
    line = screen.mark("Understood as: ", "dim")
    text = response.rewrite.text if response.rewrite else ""
    position = 0
    for start, end in response.added:
        line += Text(escape(text[position:start]))
        line += screen.mark(escape(text[start:end]), "cyan underline", "[", "]")
        position = end
    return line + Text(escape(text[position:]))


def _nearest_lines(response: Response, screen: Screen) -> Iterator[Text]:
    """Yield the reason for no answer, what was closest to one with its source, and the nearest passages."""
    answer = response.answer
    reason = answer.reason if answer else "this pipeline has no builder"
    yield screen.mark("No answer:", "bold yellow") + Text(f" {escape(reason)}.")
    closest = replies.withheld(response)
    quotes = [("closest", closest)] if closest else []
    quotes += [
        ("nearest", reply)
        for reply in replies.nearest(response)
        if closest is None or (reply.id, reply.start) != (closest.id, closest.start)
    ]
    columns = 2 * (screen.width or 80) - 20
    for label, reply in quotes:
        name = escape(_short_name(reply))
        text = escape(shorten(reply.text, columns, placeholder=" ..."))
        yield screen.mark(f"    {label}: ", "dim") + Text(f'"{text}"' if text else name)
        if text:
            yield screen.mark(f"        {name}", "dim")


def _short_name(reply: replies.NearestReply) -> str:
    return reply.title or _URL_START.sub("", reply.url or reply.id)


def answer_lines(response: Response, screen: Screen) -> list[Text]:
    """Return the sentences with their numbers, after the opening words. List items have lines of their own."""
    cited = _cited(response)
    first = openings(cited.answer)
    numbers = numbered(cited.answer)
    sentences = [marked(sentence, numbers) for sentence in cited.listed()]
    lines = [Text(line) for text in laid_out([*first, *sentences]) for line in table_lines(text)]
    if screen.styled:
        lines[0].stylize("bold yellow", 0, len(" ".join(first)))
        for line in lines:
            line.highlight_regex(_NUMBER, "cyan")
            line.highlight_regex(_MARKED, "yellow")
    return lines


def source_lines(
    response: Response,
    screen: Screen,
    brief: bool = False,
) -> Iterator[Text]:
    """Yield the numbers of each cited place, and its title, or its short URL or id if it has none.

    Unless in brief, URL, id and quotes follow; a single quote is shown in its context.
    """
    passages = _cited(response).passages
    places: dict[tuple[str, str], list[replies.CitationReply]] = defaultdict(list)
    for cited in replies.citations(response):
        name = cited.title or _URL_START.sub("", cited.url or cited.passage)
        places[cited.passage, name].append(cited)
    for (id, name), own in places.items():
        marks = "".join(f"[{cited.number}]" for cited in own)
        yield screen.mark(marks, "cyan") + screen.mark(f" {escape(name)}", "dim" if brief else "bold")
        if brief:
            continue
        if own[0].url:
            yield screen.mark(f"    url: {escape(own[0].url)}", "dim")
        yield screen.mark(f"    id: {escape(id)}", "dim")
        for cited in own if id in passages else ():
            label = f"[{cited.number}] " if len(own) > 1 else ""
            yield Text(f"    {label}") + _excerpt(passages[id], cited, screen, 0 if label else _CONTEXT_CHARS)


def _excerpt(
    passage: Passage,
    citation: replies.CitationReply,
    screen: Screen,
    context: int,
) -> Text:
    """Return the cited characters, marked, between characters of context, on one line; of a row, its cells."""
    text = passage.text
    if citation.start is None or citation.end is None:
        return Text(_one_line(text[: 2 * _CONTEXT_CHARS]))
    unit = unit_at(passage, citation.start)
    if unit.kind == "row":
        return screen.mark(escape(shown_unit(passage, unit)), "bold underline", "»", "«")
    start = max(0, citation.start - context)
    end = citation.end + context
    before = _one_line(text[start : citation.start].lstrip())
    cited = _one_line(text[citation.start : citation.end])
    after = _one_line(text[citation.end : end].rstrip())
    if context and start > 0:
        before = f"...{before}"
    if context and end < len(text):
        after += "..."
    return Text(before) + screen.mark(cited, "bold underline", "»", "«") + Text(after)


def _one_line(text: str) -> str:
    return escape(re.sub(r"\s+", " ", text))


def _cited(response: Response) -> CitedAnswer:
    """Return the answer, which has no citations if this pipeline makes none."""
    return CitedAnswer(response, response.answer or Answer("none", ""))
