r"""Plain text for people: sentences with ``[n]``, then a numbered list of the places that they cite.

    Conversation 12, turn 3
    Question: Who wrote Faust?

    Goethe wrote Faust. [1][2]

    [1] Faust
        url: https://example.org/faust
        id: doc 1
        characters 0-27: Faust is a play by Goethe.
    [2] ...

A number is a place: two spans of one passage have two. Texts stand on one line each: line ends, control characters and
the backslash itself are written ``\n``, ``\r``, ``\u0007``, ``\\``; a ``[1]`` of a sentence's own text is ``\[1]``, and
a line that could be taken for another begins with ``\&``. So the text can be read back without a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from convqa.domain import Answer, Citation, Sentence, TurnId
from convqa.errors import InputError, reason_of
from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer, Source
from convqa.exports.lines import raw_lines

_UNSAFE = re.compile("[\\\\\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""What would end a line or act on a terminal, what UTF-8 cannot write, and the mark of escapes; a tab may stay."""
_SHORT = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_LONG = {"n": "\n", "r": "\r", "&": ""}
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|(.))")
_MARK = re.compile(r"\[(?=[0-9]+\])")
_MARKS = re.compile(r" ((?:\[[0-9]+\])+)\Z")
_FIELD = re.compile(r"(Question|No answer|Nearest|Asks back|Label|Score):(?: (.*))?")
_NO_SENTENCE = re.compile(rf"\Z|\s|\[|Conversation |{_FIELD.pattern}")
_TURN = re.compile(r'Conversation (?:(-?[0-9]+)|"(.*)"), turn (-?[0-9]+)')
_SOURCE = re.compile(r"\[([0-9]+)\](?: (.*))?")
_PLACE = re.compile(r"characters ([0-9]+)-([0-9]+): (.*)")

WANTED = "text as convqa export --as text writes it"
WHOLE = "the whole passage"


def write(cited: CitedAnswer, submission: Submission) -> bytes:  # noqa: ARG001 - the form of all writers
    """The text of one turn, with an empty line behind it."""
    return "".join(f"{line}\n" for line in _lines(cited)).encode() + b"\n"


def _lines(cited: CitedAnswer) -> Iterator[str]:
    turn, answer, numbers = cited.id, cited.answer, numbered(cited.answer)
    conversation = f'"{escape(turn.conversation)}"' if isinstance(turn.conversation, str) else turn.conversation
    yield f"Conversation {conversation}, turn {turn.number}"
    if cited.question:
        yield _field("Question", cited.question)
    yield ""
    if answer.kind == "none":
        yield _field("No answer", answer.reason)
        yield from (_field("Nearest", id) for id in answer.nearest)
    elif answer.kind == "question":
        yield _field("Asks back", answer.text)
    sentences = answer.sentences if answer.kind == "question" else cited.said()
    yield from (_sentence(marked(sentence, numbers)) for sentence in sentences)
    if answer.label:
        yield _field("Label", answer.label)
    if answer.score is not None:
        yield _field("Score", repr(answer.score))
    if numbers:
        yield ""
    for citation, number in numbers.items():
        yield from heading(number, citation, cited)
        yield "    " + _place(citation, cited.quotes.get(citation, ""))


def _sentence(line: str) -> str:
    return rf"\&{line}" if _NO_SENTENCE.match(line) else line


def _field(name: str, value: str) -> str:
    return f"{name}: {escape(value)}" if value else f"{name}:"


def numbered(answer: Answer) -> dict[Citation, int]:
    """The places that an answer cites, numbered from 1 in the order in which they are first cited."""
    places = dict.fromkeys(citation for sentence in answer.sentences for citation in sentence.citations)
    return {citation: number for number, citation in enumerate(places, 1)}


def marked(sentence: Sentence, numbers: dict[Citation, int]) -> str:
    r"""A sentence on one line, with its marks.

    >>> marked(Sentence("Ids look like [1].", (Citation("p"),)), {Citation("p"): 1})
    'Ids look like \\[1]. [1]'
    """
    text = _MARK.sub(r"\\[", escape(sentence.text))
    marks = "".join(f"[{numbers[citation]}]" for citation in sentence.citations)
    return f"{text} {marks}" if marks else text


def heading(number: int, citation: Citation, cited: CitedAnswer) -> Iterator[str]:
    """The first lines of a numbered source: title, URL and id of the passage."""
    source = cited.sources.get(citation.passage_id, Source())
    yield f"[{number}] {escape(source.title)}" if source.title else f"[{number}]"
    if source.url:
        yield f"    url: {escape(source.url)}"
    yield f"    id: {escape(citation.passage_id)}"


def _place(citation: Citation, quote: str) -> str:
    return WHOLE if citation.start is None else f"characters {citation.start}-{citation.end}: {escape(quote)}"


def escape(text: str) -> str:
    r"""The text on one line, without anything that acts on a terminal.

    >>> escape("a\\b\r\n\x1b[31m")
    'a\\\\b\\r\\n\\u001b[31m'
    """
    return _UNSAFE.sub(lambda found: _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}", text)


def unescape(text: str) -> str:
    """What :func:`escape` was given."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _LONG.get(found[2], found[2]), text)


def read(path: Path, language: str = "en") -> Iterator[CitedAnswer]:
    """The answers of a file. A citation without offsets comes back without its quote."""
    for number, lines in _turns(path):
        try:
            yield _cited(lines, language)
        except (ValueError, KeyError) as error:
            raise InputError(f"{path}: the turn at line {number}: {reason_of(error)}. Wanted is {WANTED}.") from None


def _turns(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of each turn, with the number of the first."""
    first = 1
    lines: list[str] = []
    for number, raw in enumerate(raw_lines(path), 1):
        try:
            line = raw.decode("utf-8").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: line {number} is not UTF-8 ({error.reason}); wanted {WANTED}.") from None
        if lines and _TURN.fullmatch(line):
            yield first, lines
            first, lines = number, []
        if line:
            lines.append(line)
    if lines:
        yield first, lines


def _cited(lines: list[str], language: str) -> CitedAnswer:
    """A turn from its lines.

    :raises ValueError: naming the line that has no place in it.
    """
    turn = _TURN.fullmatch(lines[0])
    if turn is None:
        raise ValueError(f"found {lines[0][:80]!r}, which begins no turn")
    fields: dict[str, list[str]] = {}
    said: list[tuple[str, list[int]]] = []
    places: dict[int, _Place] = {}
    for line in lines[1:]:
        if line.startswith("    "):
            if not places:
                raise ValueError(f"found {line[:80]!r} before a numbered source")
            list(places.values())[-1].take(line[4:])
        elif found := _SOURCE.fullmatch(line):
            places[int(found[1])] = _Place(unescape(found[2] or ""))
        elif found := _FIELD.fullmatch(line):
            fields.setdefault(found[1], []).append(unescape(found[2] or ""))
        else:
            marks = _MARKS.search(line)
            text = line[: marks.start()] if marks else line
            said.append((unescape(text), [int(n) for n in re.findall("[0-9]+", marks[1])] if marks else []))
    citations = {number: place.citation() for number, place in places.items()}
    for number in (number for _, numbers in said for number in numbers):
        if number not in citations:
            raise ValueError(f"[{number}] has no source")
    sentences = [Sentence(text, tuple(citations[number] for number in numbers)) for text, numbers in said]
    conversation = unescape(turn[2]) if turn[1] is None else int(turn[1])
    return CitedAnswer(
        TurnId(conversation, int(turn[3])),
        _answer(fields, sentences, language),
        fields.get("Question", [""])[0],
        sources={place.id: Source(place.title, place.url) for place in places.values()},
        quotes={citations[n]: place.quote for n, place in places.items() if place.quote is not None},
    )


@dataclass(slots=True)
class _Place:
    """A numbered source, as its lines are read."""

    title: str
    id: str = ""
    url: str = ""
    start: int | None = None
    end: int | None = None
    quote: str | None = None

    def take(self, line: str) -> None:
        name, _, value = line.partition(": ")
        if name in ("url", "id"):
            setattr(self, name, unescape(value))
        elif found := _PLACE.fullmatch(line):
            self.start, self.end, self.quote = int(found[1]), int(found[2]), unescape(found[3])
        elif line != WHOLE:
            raise ValueError(f"found {line[:80]!r} in a numbered source")

    def citation(self) -> Citation:
        return Citation(self.id, self.start, self.end)


def _answer(fields: dict[str, list[str]], sentences: list[Sentence], language: str) -> Answer:
    label, score = fields.get("Label", [""])[0], fields.get("Score")
    answer = replace(Answer.of(sentences, language, float(score[0]) if score else None), label=label)
    if "No answer" in fields:
        return replace(answer, kind="none", reason=fields["No answer"][0], nearest=tuple(fields.get("Nearest", ())))
    return replace(answer, kind="question", text=fields["Asks back"][0]) if "Asks back" in fields else answer


FORMAT = Format("text", "plain text with [n] and a numbered list of sources", write, read)
