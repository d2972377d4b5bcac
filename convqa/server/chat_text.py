"""An answer as the text of a chat message, and back: chat clients keep nothing else of a conversation.

    Goethe wrote Faust. [1][2] He was born in Frankfurt. [3]

    Sources:

    - [1] [Faust](https://example.org/faust): "Faust is a play by Goethe."
    - ...

The marks and the list are Markdown; ``[1]`` of a sentence's own text is ``\\[1]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import shorten

from convqa.domain import TOLD, UNSURE, Exchange, ExchangeStatus, Response
from convqa.domain.answer import UNSPACED
from convqa.exports.text import begins_item, escape, marked, numbered
from convqa.server import replies

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
    """The text of a message, sentence by sentence, then the list of its sources, and what to know of it."""
    answer, caveat = response.answer, f"\n\n{response.caveat}" if response.caveat else ""
    if answer is None or answer.kind == "none":
        asked = response.rewrite is None or bool(response.rewrite.queries)
        reason = answer.reason if answer else "this pipeline makes no answers"
        yield f"{_NO_ANSWER}{escape(reason)}.{caveat}" if asked else _IDLE
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
    title = escape(citation["title"] or citation["passage"]).replace("[", "(").replace("]", ")")
    named = f"[{title}]({citation['url']})" if is_address(citation["url"]) else title
    quote = shorten(escape(citation["quote"]), _QUOTE, placeholder=" ...")
    return f'- [{citation["number"]}] {named}: "{quote}"'


def is_address(url: str) -> bool:
    """Whether a link may point there."""
    return re.fullmatch(r"https?://[^\s()<>]+", url) is not None


def marks(content: str) -> list[tuple[int, int, int]]:
    """The marks of a message's text, before the list of its sources: characters [start, end) and the number of each."""
    said = content.partition("\n\n")[0]
    places = (place.span() for place in _MARKS.finditer(said))
    return [
        (start + found.start(), start + found.end(), int(found[1]))
        for start, end in places
        for found in re.finditer(r"\[(\d+)\]", said[start:end])
    ]


def exchange(question: str, content: str) -> Exchange:
    r"""What a client kept of an exchange, with its marks and its list of sources taken off again.

    >>> exchange("Who?", 'Not sure: Goethe did. [1]\n\nSources:\n\n- [1] Faust: "Goethe did."').answer
    'Goethe did.'
    """
    if content.startswith(_IDLE):
        return Exchange(question, "", status="idle")
    if content.startswith(_NO_ANSWER) or not content.strip():
        return Exchange(question, "", status="unanswered")
    said = content.partition("\n\n")[0]
    status: ExchangeStatus = "asked" if said.startswith(_ASKED) else "answered"
    for prefix in (_ASKED, *_NOTES.values()):
        said = said.removeprefix(prefix)
    plain = _ESCAPES.sub(lambda found: _ESCAPED.get(found[1]) or chr(int(found[1][1:], 16)), _MARKS.sub("", said))
    return Exchange(question, plain.replace("\n", " ").strip(), status=status)
