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

from convqa.domain import TOLD, UNSURE, Exchange, ExchangeStatus, Response
from convqa.domain.answer import UNSPACED
from convqa.exports import replies
from convqa.exports.text import begins_item, escape, marked, numbered

_SOURCES = "\n\nSources:\n\n"
_NO_ANSWER = "No answer: "
_ASKED = "A question back: "
_IDLE = "Nothing to look up. Ask whenever you like."
_NOTES = {TOLD: "As said before: ", UNSURE: "Not sure: "}
_QUOTE = 200
_MARKS = re.compile(r" (?:\[\d+\])+")
_ESCAPES = re.compile(r"\\(\\|\[|n|r|u[0-9a-f]{4})")
_ESCAPED = {"\\": "\\", "[": "[", "n": "\n", "r": "\r"}


def pieces(response: Response, language: str) -> Iterator[str]:
    """Yield the text of a message: its sentences, the list of sources, and the caveat."""
    answer, caveat = response.answer, f"\n\n{response.caveat}" if response.caveat else ""
    if answer is None or answer.kind == "none":
        has_query = response.rewrite is None or bool(response.rewrite.queries)
        reason = answer.reason if answer else "this pipeline writes no answers"
        yield f"{_NO_ANSWER}{escape(reason)}.{caveat}" if has_query else _IDLE
        return
    yield _ASKED if answer.kind == "question" else "".join(_NOTES.get(note, "") for note in answer.notes)
    numbers, first = numbered(answer), True
    for sentence in answer.sentences:
        between = "" if language in UNSPACED else " "
        yield ("" if first else "\n" if begins_item(sentence.text) else between) + marked(sentence, numbers)
        first = False
    if not answer.sentences:
        yield escape(answer.text)
    if sources := [_source(citation) for citation in replies.citations(response)]:
        yield _SOURCES + "\n".join(sources)
    if caveat:
        yield caveat


def _source(citation: replies.CitationReply) -> str:
    title = escape(citation.title or citation.passage).replace("[", "(").replace("]", ")")
    link = f"[{title}]({citation.url})" if is_address(citation.url) else title
    quote = shorten(escape(citation.quote), _QUOTE, placeholder=" ...")
    return f'- [{citation.number}] {link}: "{quote}"'


def is_address(url: str) -> bool:
    """Return whether a URL is safe to link to."""
    return re.fullmatch(r"https?://[^\s()<>]+", url) is not None


def marks(content: str) -> list[tuple[int, int, int]]:
    """Return start, end and number of each citation mark before the list of sources."""
    return [
        (match.start(), match.end(), int(match[1]))
        for group in _MARKS.finditer(content.partition("\n\n")[0])
        for match in re.compile(r"\[(\d+)\]").finditer(content, *group.span())
    ]


def exchange(question: str, content: str) -> Exchange:
    r"""Parse a message that a client sends back, without its marks and its list of sources.

    >>> exchange("Who?", 'Not sure: Goethe did. [1]\n\nSources:\n\n- [1] Faust: "Goethe did."').answer
    'Goethe did.'
    """
    if content.startswith(_IDLE):
        return Exchange(question, "", status="idle")
    if content.startswith(_NO_ANSWER) or not content.strip():
        return Exchange(question, "", status="unanswered")
    text = content.partition("\n\n")[0]
    status: ExchangeStatus = "asked" if text.startswith(_ASKED) else "answered"
    for prefix in (_ASKED, *_NOTES.values()):
        text = text.removeprefix(prefix)
    plain = _ESCAPES.sub(lambda match: _ESCAPED.get(match[1]) or chr(int(match[1][1:], 16)), _MARKS.sub("", text))
    return Exchange(question, plain.replace("\n", " ").strip(), status=status)
