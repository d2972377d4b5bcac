r"""Plain text for people: sentences with ``[n]``, then a numbered list of the citations.

    Conversation 12, turn 3
    Question: Who wrote Faust?

    Goethe wrote Faust. [1][2]

    [1] Faust
        url: https://example.org/faust
        id: doc 1
        characters 0-27: Faust is a play by Goethe.
    [2] ...

Two spans of one passage have two numbers. To be unambiguous, a text is one line: line ends, control characters and
backslashes are escaped (``\n``, ``\r``, ``\u0007``, ``\\``), and a ``[1]`` in a sentence's own text is ``\[1]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from convqa.domain import TOLD, UNSURE, Answer, Citation, Passage, Sentence
from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.text.quotes import COLONS

_UNSAFE = re.compile("[\\\\\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Line ends, terminal control characters, lone surrogates and the backslash, but not tabs."""
_SHORT_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_ITEM = re.compile(r"(?:\d{1,2}\.|-|\|)\s")
_MARK = re.compile(r"\[(?=[0-9]+\])")
_NEXT_ROW = re.compile(r"(?:\\n|\n)\|")


def write(cited: CitedAnswer, submission: Submission) -> bytes:  # noqa: ARG001 - the signature of all writers
    """Format the text of one turn, followed by an empty line."""
    return "".join(f"{line}\n" for line in _lines(cited)).encode() + b"\n"


def _lines(cited: CitedAnswer) -> Iterator[str]:
    answer = cited.answer
    numbers = numbered(answer)
    quotes = cited.quotes
    conversation = cited.id.conversation
    if isinstance(conversation, str):
        conversation = f'"{escape(conversation)}"'
    yield f"Conversation {conversation}, turn {cited.id.number}"
    if cited.question:
        yield _field("Question", cited.question)
    yield ""
    if answer.kind == "none":
        yield _field("No answer", answer.reason)
        for id in answer.nearest:
            yield _field("Nearest", id)
    elif answer.kind == "question":
        yield _field("Asks back", answer.text)
    sentences = answer.sentences if answer.kind == "question" else cited.sentences()
    for sentence in sentences:
        yield marked(sentence, numbers)
    if answer.label:
        yield _field("Label", answer.label)
    if answer.score is not None:
        yield _field("Score", f"{answer.score:.3g}")
    if numbers:
        yield ""
    for citation, number in numbers.items():
        yield from heading(number, citation, cited)
        if citation.start is None:
            yield "    the whole passage"
        else:
            quote = escape(quotes[citation])
            yield f"    characters {citation.start}-{citation.end}: {quote}"


def _field(name: str, value: str) -> str:
    return f"{name}: {escape(value)}" if value else f"{name}:"


def numbered(answer: Answer) -> dict[Citation, int]:
    """Number the distinct citations of an answer from 1, in order."""
    citations = dict.fromkeys(citation for sentence in answer.sentences for citation in sentence.citations)
    return {citation: number for number, citation in enumerate(citations, 1)}


def marked(sentence: Sentence, numbers: dict[Citation, int]) -> str:
    r"""Return a sentence on one line, with its marks.

    >>> marked(Sentence("Ids look like [1].", (Citation("p"),)), {Citation("p"): 1})
    'Ids look like \\[1]. [1]'
    """
    text = _MARK.sub(r"\\[", escape(sentence.text))
    marks = "".join(f"[{numbers[citation]}]" for citation in sentence.citations)
    mark = f"({escape(sentence.mark)})" if sentence.mark else ""
    return " ".join(filter(None, (text, marks, mark)))


OPENINGS = {"none": "No answer:", "question": "Asked back:", UNSURE: "Not sure:", TOLD: "As said before:"}
"""Kind or note of an answer -> the words before it, the same in the terminal and in chat clients."""


def openings(answer: Answer) -> list[str]:
    """Return the words before an answer.

    >>> openings(Answer("answer", "Yes.", notes=("not sure",)))
    ['Not sure:']
    """
    return [words for word, words in OPENINGS.items() if word == answer.kind or word in answer.notes]


def begins_item(text: str) -> bool:
    """Whether a sentence starts a list item or a table.

    >>> [begins_item(text) for text in ("1. Open the lid.", "- Salt", "1808 was the year.", "-5 degrees")]
    [True, True, False, False]
    """
    return _ITEM.match(text) is not None


def begins_line(text: str, before: str) -> bool:
    """Whether a sentence starts a line: an item, a table, the introduction of a list, or what follows a table.

    >>> [begins_line("Take with you:", before) for before in ("It is cold. [1]", "Not sure:")]
    [True, False]
    """
    introduces = text.endswith(COLONS) and not before.endswith(COLONS)
    return introduces or begins_item(text) or begins_table(before)


def begins_table(text: str) -> bool:
    r"""Whether a text starts with two rows of a table, with an escaped or a plain line break between them.

    >>> [begins_table(text) for text in (r"| a |\n| --- |", "|x| is never negative.")]
    [True, False]
    """
    return text.startswith("|") and _NEXT_ROW.search(text) is not None


def laid_out(sentences: Iterable[str]) -> list[str]:
    """Lay sentences out in lines: one for each list item and introduction, and one for the sentences before.

    >>> laid_out(["It takes two steps.", "[1]", "1. Open it.", "Mind the spring.", "2. Press."])
    ['It takes two steps. [1]', '1. Open it. Mind the spring.', '2. Press.']
    """
    lines: list[str] = []
    for sentence in sentences:
        if lines and not begins_line(sentence, lines[-1]):
            lines[-1] += f" {sentence}"
        else:
            lines.append(sentence)
    return lines


def table_lines(text: str) -> list[str]:
    r"""Return the lines of a laid out table, and its marks below it; any other text as one line.

    In Markdown, what follows the last cell of a row is not shown.

    >>> table_lines(r"| a | b |\n| 1 | 2 | [1]")
    ['| a | b |', '| 1 | 2 |', '', '[1]']
    """
    if not begins_table(text):
        return [text]
    *lines, last = text.split(r"\n")
    row, end, marks = last.rpartition("|")
    lines.append(row + end)
    return [*lines, "", marks.strip()] if marks.strip() else lines


def heading(
    number: int,
    citation: Citation,
    cited: CitedAnswer,
) -> Iterator[str]:
    """Yield the first lines of a numbered source: its name, and URL and id of the passage."""
    passage = cited.passages.get(citation.passage_id, Passage("", ""))
    yield f"[{number}] {escape(passage.source(citation.start))}".rstrip()
    if passage.url:
        yield f"    url: {escape(passage.url)}"
    yield f"    id: {escape(citation.passage_id)}"


def escape(text: str) -> str:
    r"""Escape line ends and terminal control characters.

    >>> escape("a\\b\r\n\x1b[31m")
    'a\\\\b\\r\\n\\u001b[31m'
    """
    return _UNSAFE.sub(lambda match: _SHORT_ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}", text)


FORMAT = Format("text", write)
