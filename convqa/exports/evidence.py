"""The answers of SCAI-QReCC's run.json, a JSON array: Model_answer, Model_evidence (2022), Model_citations (ours)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from convqa.domain import Answer, AnswerKind, Citation, Sentence, TurnId, evidence_fields
from convqa.domain.answer import UNSPACED
from convqa.errors import InputError
from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.exports.lines import Record
from convqa.files import read_json, to_json_bytes
from convqa.validation import read_as

WANTED = "an array of {Conversation_no, Turn_no, Model_answer, Model_citations}, as convqa writes it"


class _Citation(Record):
    passage_id: str
    start: int | None
    end: int | None
    text: str
    sentence: str


class _Answer(Record):
    Conversation_no: int | str
    Turn_no: int
    Model_answer: str
    Model_citations: list[_Citation]
    Model_answer_score: float | None = None


def write(cited: CitedAnswer, submission: Submission) -> bytes:  # noqa: ARG001 - the form of all writers
    """The record of one turn; Model_rewrite and Model_passages are left out."""
    turn = {"Conversation_no": cited.id.conversation, "Turn_no": cited.id.number}
    return to_json_bytes(turn | evidence_fields(cited.answer, cited.quotes))


def read(path: Path, language: str = "en") -> Iterator[CitedAnswer]:
    """The answers of a file. What stands between cited sentences is a sentence without citations."""
    records = read_json(path, WANTED)
    if not isinstance(records, list):
        raise InputError(f"{path}: found no array; wanted {WANTED}.")
    for place, found in enumerate(records):
        where = f"{path}: record {place}"
        record = read_as(_Answer, found, where, f"Wanted is {WANTED}.")
        try:
            citations = [
                (item.sentence, Citation(item.passage_id, item.start, item.end)) for item in record.Model_citations
            ]
        except ValueError as error:
            raise InputError(f"{where}: Model_citations: {error}.") from None
        text = record.Model_answer
        sentences = _sentences(text, citations, "" if language in UNSPACED else " ", where)
        kind: AnswerKind = "answer" if text or sentences else "none"
        answer = Answer(kind, text, sentences, score=record.Model_answer_score)
        quoted = {citation: item.text for (_, citation), item in zip(citations, record.Model_citations, strict=True)}
        yield CitedAnswer(TurnId(record.Conversation_no, record.Turn_no), answer, quotes=quoted)


def _sentences(text: str, citations: Sequence[tuple[str, Citation]], joint: str, where: str) -> tuple[Sentence, ...]:
    """The text cut at its cited sentences, which follow one another in it; each is taken where it can first be."""
    sentences: list[Sentence] = []
    end = 0
    for sentence, group in groupby(citations, key=lambda citation: citation[0]):
        next_to = end + len(joint) if end else 0
        start = next_to if text.startswith(sentence, next_to) else text.find(sentence, end)
        if start < 0:
            raise InputError(
                f"{where}: Model_citations: the sentence {sentence!r} is not in Model_answer where it should be."
            )
        sentences += _uncited(text[end:start].removesuffix(joint), joint if sentences else "")
        sentences.append(Sentence(sentence, tuple(citation for _, citation in group)))
        end = start + len(sentence)
    return (*sentences, *_uncited(text[end:], joint if sentences else ""))


def _uncited(gap: str, joint: str) -> list[Sentence]:
    return [Sentence(gap.removeprefix(joint))] if gap.strip() else []


FORMAT = Format(
    "evidence", "QReCC's Model_evidence and Model_citations, a JSON array", write, read, b"[\n", b",\n", b"\n]\n"
)
