"""Format an answer as the text of a chat message, and parse it back, because chat clients keep only the text.

    Goethe wrote Faust. [1][2] He was born in Frankfurt. [3]

    Sources:

    - [1] [Faust](https://example.org/faust): "Faust is a play by Goethe."
    - ...

The marks and the list are Markdown. ``[1]`` within a sentence is escaped as ``\\[1]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import shorten

from convqa.components.checks import NOTHING_ASKED
from convqa.domain import Answer, Exchange, ExchangeStatus, Response
from convqa.domain.answer import UNSPACED
from convqa.exports import replies
from convqa.exports.text import OPENINGS, begins_item, begins_table, escape, marked, numbered, openings, table_lines

_SOURCES = "\n\nSources:\n\n"
_MAX_QUOTE_CHARS = 200
_MARK = re.compile(r"(?<!\\)\[(\d+)\]")
_MARKS = re.compile(r" (?:\[\d+\])+")
_ESCAPES = re.compile(r"\\(\\|\[|n|r|u[0-9a-f]{4})")
_ESCAPED = {"\\": "\\", "[": "[", "n": "\n", "r": "\r"}


def pieces(response: Response, language: str) -> Iterator[str]:
    """Yield the text of a message: its sentences, the list of sources, and the caveat."""
    answer = response.answer
    caveat = f"\n\n{response.caveat}" if response.caveat else ""
    if answer is None or (answer.kind == "none" and not answer.sentences):
        reason = answer.reason if answer else "this pipeline writes no answers"
        closest = replies.withheld(response)
        quoted = f"\n\nClosest: {_without_number(closest)}" if closest else ""
        yield f"{OPENINGS['none']} {escape(reason)}.{quoted}{caveat}"
        return
    yield from sentence_pieces(answer, language)
    if not answer.sentences:
        yield escape(answer.text)
    sources = [_source(citation) for citation in replies.citations(response)]
    if sources:
        yield _SOURCES + "\n".join(sources)
    if caveat:
        yield caveat


def sentence_pieces(answer: Answer, language: str) -> Iterator[str]:
    """Yield the beginning of a message, and its sentences with their marks."""
    yield "".join(f"{words} " for words in openings(answer))
    numbers = numbered(answer)
    space = "" if language in UNSPACED else " "
    before = ""
    for sentence in answer.sentences:
        text = "\n".join(table_lines(marked(sentence, numbers)))
        separator = "\n" if begins_item(text) or begins_table(before) else space
        yield separator + text if before else text
        before = text


def _source(citation: replies.CitationReply) -> str:
    title = escape(citation.title or citation.passage)
    title = title.replace("[", "(").replace("]", ")")
    if is_address(citation.url):
        title = f"[{title}]({citation.url})"
    quote = shorten(escape(citation.quote), _MAX_QUOTE_CHARS, placeholder=" ...")
    return f'- [{citation.number}] {title}: "{quote}"'


def _without_number(near: replies.NearestReply) -> str:
    """Return what is near to a question as a source, without the number that only citations have."""
    citation = replies.CitationReply(0, near.id, near.title, near.url, near.start, near.end, near.text)
    return _source(citation).removeprefix("- [0] ")


def is_address(url: str) -> bool:
    """Return whether a URL is safe to link to."""
    return re.fullmatch(r"https?://[^\s()<>]+", url) is not None


def marks(content: str) -> list[tuple[int, int, int]]:
    """Return start, end and number of each citation mark before the list of sources."""
    text = content.partition("\n\n")[0]
    return [(mark.start(), mark.end(), int(mark[1])) for mark in _MARK.finditer(text)]


def exchange(question: str, content: str) -> Exchange:
    r"""Parse a message that a client sends back, without its marks and its list of sources.

    >>> exchange("Who?", 'Not sure: Goethe did. [1]\n\nSources:\n\n- [1] Faust: "Goethe did."').answer
    'Goethe did.'
    """
    if content.startswith(NOTHING_ASKED.shown):
        return Exchange(question, "", status="idle")
    if content.startswith(OPENINGS["none"]) or not content.strip():
        return Exchange(question, "", status="unanswered")
    text = content.partition("\n\n")[0]
    status: ExchangeStatus = "asked" if text.startswith(OPENINGS["question"]) else "answered"
    for words in OPENINGS.values():
        text = text.removeprefix(f"{words} ")
    plain = _ESCAPES.sub(_unescaped, _MARKS.sub("", text))
    return Exchange(question, plain.replace("\n", " ").strip(), status=status)


def _unescaped(escape: re.Match[str]) -> str:
    return _ESCAPED.get(escape[1]) or chr(int(escape[1][1:], 16))
