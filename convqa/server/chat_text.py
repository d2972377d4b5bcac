"""Format an answer as the text of a chat message, and parse it back, because chat clients keep only the text.

    Goethe wrote Faust. [1][2] He was born in Frankfurt. [3]

    Sources:

    - [1] [Faust](https://example.org/faust): "Faust is a play by Goethe."
    - ...

The marks and the list are Markdown. What passages say is not: its brackets, tags and code are escaped (``\\[1]``,
``\\<b>``), so that no passage adds a link or a picture, or hides a mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from textwrap import shorten

from convqa.components import acts
from convqa.domain import Answer, Exchange, ExchangeStatus, Response
from convqa.domain.answer import UNSPACED
from convqa.exports import CitedAnswer, replies
from convqa.exports.text import OPENINGS, begins_line, escape, marked, numbered, openings, table_lines

_SOURCES = "\n\nSources:\n\n"
_MAX_QUOTE_CHARS = 200
_MARK = re.compile(r"(?<!\\)\[(\d+)\]")
_MARKS = re.compile(r"(?: |\n\n)(?:\[\d+\])+")
_ESCAPES = re.compile(r"\\([\\[<`~nr]|u[0-9a-f]{4})")
_ESCAPED = {"n": "\n", "r": "\r"}
_END = re.compile(r"\n\n(?!\[\d)")
"""The end of an answer: an empty line, but not the one between a table and its marks."""
_MARKUP = re.compile(r"\\.|\[(?!\d+\])|<(?=[A-Za-z/!?])|`|~(?=~~)")
"""What opens a link, a picture, a tag or code in Markdown; and escapes, which stay."""


def pieces(
    response: Response,
    language: str,
    sources: int = 0,
    caveat: str = "",
) -> Iterator[str]:
    """Yield the text of a message: its sentences, the list of sources, and the caveats.

    :param sources: how many numbered sources the client shows before those of the answer.
    :param caveat: another caveat, about the question.
    """
    answer = response.answer
    caveat = "".join(f"\n\n{text}" for text in (caveat, response.caveat) if text)
    if answer is None or (answer.kind == "none" and not answer.sentences):
        reason = answer.reason if answer else "this pipeline writes no answers"
        closest = replies.withheld(response)
        quoted = ""
        if closest:
            quoted = f"\n\nClosest: {_source(closest.title or closest.id, closest.url, closest.text)}"
        yield f"{OPENINGS['none']} {escape(reason)}.{quoted}{caveat}"
        return
    yield from sentence_pieces(replace(answer, sentences=CitedAnswer(response, answer).listed()), language, sources)
    lines = []
    for citation in citations(response, sources):
        source = _source(citation.title or citation.passage, citation.url, citation.quote)
        lines.append(f"- [{citation.number}] {source}")
    if lines:
        yield _SOURCES + "\n".join(lines)
    if caveat:
        yield caveat


def citations(response: Response, sources: int = 0) -> list[replies.CitationReply]:
    """Return the citations of an answer, numbered after the ``sources`` of the client."""
    return [replace(citation, number=citation.number + sources) for citation in replies.citations(response)]


def sentence_pieces(
    answer: Answer,
    language: str,
    sources: int = 0,
) -> Iterator[str]:
    """Yield the beginning of a message, and its sentences with their marks."""
    before = " ".join(openings(answer))
    yield before
    gap = " "
    numbers = {citation: number + sources for citation, number in numbered(answer).items()}
    for sentence in answer.sentences:
        text = "\n".join(table_lines(_without_markup(marked(sentence, numbers))))
        separator = "\n" if begins_line(text, before) else gap
        yield separator + text if before else text
        before = text
        gap = "" if language in UNSPACED else " "


def _source(title: str, url: str, quote: str) -> str:
    """Return a title, which is a link if there is an address, and a quote."""
    name = _without_markup(escape(title).replace("[", "(").replace("]", ")"))
    if is_address(url):
        name = f"[{name}]({url})"
    words = shorten(escape(quote), _MAX_QUOTE_CHARS, placeholder=" ...").replace("[", r"\[")
    return f'{name}: "{_without_markup(words)}"'


def _without_markup(text: str) -> str:
    r"""Escape what opens a link, a picture, a tag or code in an escaped text, but not marks.

    >>> _without_markup("![a](b) <b>1 < 2</b> [1]")
    '!\\[a](b) \\<b>1 < 2\\</b> [1]'
    """
    return _MARKUP.sub(lambda match: match[0] if match[0].startswith("\\") else f"\\{match[0]}", text)


def numbered_address(url: str, number: int) -> str:
    """Return an address that no other citation has, because some clients show one source for each address.

    >>> numbered_address("https://example.org/a", 2), numbered_address("https://example.org/#b", 2)
    ('https://example.org/a#c2', 'https://example.org/#b:~:c2')
    """
    # Browsers ignore what follows :~: in a fragment, and go to the place before it.
    return f"{url}:~:c{number}" if "#" in url else f"{url}#c{number}"


def is_address(url: str) -> bool:
    """Return whether a URL is safe to link to."""
    return re.fullmatch(r"https?://[^\s()<>]+", url) is not None


def marks(content: str) -> list[tuple[int, int, int]]:
    """Return start, end and number of each citation mark before the list of sources."""
    text = _END.split(content, 1)[0]
    return [(mark.start(), mark.end(), int(mark[1])) for mark in _MARK.finditer(text)]


def exchange(question: str, content: str) -> Exchange:
    r"""Parse a message that a client sends back, without its marks and its list of sources.

    >>> exchange("Who?", 'Not sure: Goethe did. [1]\n\nSources:\n\n- [1] Faust: "Goethe did."').answer
    'Goethe did.'
    """
    if content.startswith(OPENINGS["none"]) or not content.strip():
        return Exchange(question, "", status="unanswered")
    text = _END.split(content, 1)[0]
    status: ExchangeStatus = "asked" if text.startswith(OPENINGS["question"]) else "answered"
    if acts.is_reply(content):
        status = "idle"
    for words in OPENINGS.values():
        text = text.removeprefix(words).lstrip()
    plain = _ESCAPES.sub(_unescaped, _MARKS.sub("", text))
    return Exchange(question, plain.replace("\n", " ").strip(), status=status)


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    return _ESCAPED.get(code, code) if len(code) == 1 else chr(int(code[1:], 16))
