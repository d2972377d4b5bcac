"""Turns as text: styled and wrapped on a terminal, plain elsewhere."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping

import typer
from rich.console import Console
from rich.status import Status
from rich.text import Text

from convqa.domain import TOLD, UNSURE, Answer, Citation, Failure, Passage, Response
from convqa.exports import CitedAnswer
from convqa.exports.text import escape, heading, laid_out, marked, numbered

_AROUND = 80
"""Characters of context on either side of a citation."""

_NEAREST = 66
"""Columns for a nearest passage, in a line of 80."""

_WIDEST = 100
_HEAD = re.compile(r" *(?:\d{1,2}\. |- |/[a-z]+ \S* +|id: |url: |(?:\[\d+\])+ )?")
"""The indent of a wrapped line: leading blanks, a marker, a label or a command name."""
_NUMBER = re.compile(r"(?<!\\)\[\d+\]")
_ADDRESS = re.compile(r".*://(?:www\.)?", re.S)
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
        return min(self._console.width, _WIDEST) if self.is_terminal else 0

    def mark(self, text: str, style: str, before: str = "", after: str = "") -> Text:
        """Return highlighted text: styled, or between the given marks where styles are off."""
        return Text.assemble((text, style)) if self.styled else Text(f"{before}{text}{after}")

    def show(self, lines: Iterable[Text | str]) -> None:
        """Print lines. A wrapped line is indented to its first word, a list item to the text after its marker."""
        for line in (Text(line) if isinstance(line, str) else line for line in lines):
            if not self.width:
                typer.echo(line.plain)
                continue
            match = _HEAD.match(line.plain)
            # In a narrow terminal, lines are not indented.
            head, body = line.divide([match.end() if match and 2 * match.end() < self.width else 0])
            for part in body.wrap(self._console, self.width - len(head)):
                part.rstrip()
                self._console.print(head + part, soft_wrap=True)
                head = Text(" " * len(head))

    def status(self, doing: str) -> Status:
        """Return a temporary line that shows the current stage."""
        return self._console.status(_cut(f"{doing} ...", max(self.width - 4, 1)), spinner="line", spinner_style="none")


def _cut(text: str, width: int) -> Text:
    line = Text(escape(text))
    line.truncate(width, overflow="ellipsis")
    return line


def failed(failure: Failure) -> str:
    """Return the message for a failed turn."""
    return f"{failure.stage} failed: {failure.error}: {failure.message}. -v shows where in the code."


def lines(response: Response, screen: Screen, brief: bool = False) -> list[Text]:
    """Return the rewritten question, the answer with ``[n]`` after each sentence, and its sources.

    Without an answer, the nearest passages follow the reason.

    :param brief: show only the titles of the sources.
    """
    if response.rewrite is not None and not response.rewrite.queries:
        return [Text("Nothing to look up. Ask whenever you like.")]
    shown = [understood(response, screen), Text()] if response.added else []
    if response.caveat:
        shown += [screen.mark(escape(response.caveat), "yellow"), Text()]
    answer = response.answer
    if answer is None or answer.kind == "none":
        return [*shown, *_nearest(response, screen)]
    sources = list((titles if brief else places)(response, screen))
    return [*shown, *_sentences(response, answer, screen), *([Text()] if sources else []), *sources]


def understood(response: Response, screen: Screen) -> Text:
    """Return the rewritten question with its added words marked."""
    line, at = screen.mark("Understood as: ", "dim"), 0
    text = response.rewrite.text if response.rewrite else ""
    for start, end in response.added:
        line += Text(escape(text[at:start])) + screen.mark(escape(text[start:end]), "cyan underline", "[", "]")
        at = end
    return line + Text(escape(text[at:]))


def _nearest(response: Response, screen: Screen) -> Iterator[Text]:
    """Yield the reason for no answer, and the nearest passages with title and first words."""
    answer, passages = response.answer, _passages(response)
    hits = response.ranking.hits if response.ranking else ()
    reason = escape(answer.reason) if answer else "this pipeline has no builder"
    yield screen.mark("No answer:", "bold yellow") + Text(f" {reason}.")
    for id in answer.nearest if answer else [hit.id for hit in hits[:3]]:
        passage = passages.get(id)
        words = id if passage is None else passage.text
        if passage and passage.title and not words.startswith(passage.title):
            words = f"{passage.title}: {words}"
        room = max(min(_NEAREST, (screen.width or 80) - 14), 10)
        yield screen.mark("    nearest: ", "dim") + _cut(" ".join(words[:1000].replace("|", " ").split()), room)


def _sentences(response: Response, answer: Answer, screen: Screen) -> list[Text]:
    """Return the sentences with their numbers, after words of doubt. List items have lines of their own."""
    numbers = numbered(answer)
    doubts = {"Asked back:": answer.kind == "question", "Not sure:": UNSURE in answer.notes}
    doubt = [words for words, holds in {**doubts, "As said before:": TOLD in answer.notes}.items() if holds]
    sentences = (marked(sentence, numbers) for sentence in CitedAnswer.of(response).sentences())
    shown = [Text(line) for line in laid_out([*doubt, *sentences])]
    if screen.styled:
        shown[0].stylize("bold yellow", 0, len(" ".join(doubt)))
        for line in shown:
            line.highlight_regex(_NUMBER, "cyan")
    return shown


def titles(response: Response, screen: Screen) -> Iterator[Text]:
    """Yield a line for each cited passage: ``[1][3] Title``."""
    marks: dict[str, str] = {}
    for citation, number in numbered(response.answer or Answer("none", "")).items():
        marks[citation.passage_id] = f"{marks.get(citation.passage_id, '')}[{number}]"
    passages = _passages(response)
    for id, mark in marks.items():
        yield screen.mark(mark, "cyan") + screen.mark(f" {escape(_name(id, passages.get(id)))}", "dim")


def _name(id: str, passage: Passage | None) -> str:
    """Return the title of a passage, else its short URL, else its id."""
    title, url = (passage.title, passage.url) if passage else ("", "")
    return title or _ADDRESS.sub("", url or id)


def places(response: Response, screen: Screen) -> Iterator[Text]:
    """Yield the sources: title, URL, id, and the cited characters in context."""
    passages = _passages(response)
    for citation, number in numbered(response.answer or Answer("none", "")).items():
        first, *more = heading(number, citation, CitedAnswer.of(response))
        yield from (screen.mark(first, "bold"), *(screen.mark(line, "dim") for line in more))
        if citation.passage_id in passages:
            yield Text("    ") + _excerpt(passages[citation.passage_id].text, citation, screen)


def _excerpt(text: str, citation: Citation, screen: Screen) -> Text:
    """Return the cited characters, marked, with context, on one line."""
    if citation.start is None or citation.end is None:
        return Text(escape(" ".join(text[: 2 * _AROUND].split())))
    start, end = max(0, citation.start - _AROUND), citation.end + _AROUND
    pieces = (
        text[start : citation.start].lstrip(),
        text[citation.start : citation.end],
        text[citation.end : end].rstrip(),
    )
    before, cited, after = (escape(re.sub(r"\s+", " ", piece)) for piece in pieces)
    left, right = "..." * (start > 0), "..." * (end < len(text))
    return Text(left + before) + screen.mark(cited, "bold underline", "»", "«") + Text(after + right)


def _passages(response: Response) -> Mapping[str, Passage]:
    return {hit.id: hit.passage for hit in (response.ranking.hits if response.ranking else ()) if hit.passage}
