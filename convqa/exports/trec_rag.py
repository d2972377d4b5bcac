"""TREC RAG: a JSON line for each turn, whose sentences cite a list of passage ids by place, from 0.

The fields are those of Ragnarök's results of 2024 (run_id, topic_id, topic, references, response_length, answer;
Pradeep et al., arXiv 2406.16828) with the metadata that the track's check of 2025 asks for (team_id, run_id, type,
narrative_id, narrative), so that one file serves both.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

from convqa.domain import Answer, Citation, Sentence
from convqa.errors import InputError
from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.exports.lines import Record, read_records, turn_named
from convqa.files import log, to_json_bytes

REFERENCES = 100
"""More the track's check cuts off, with their citations."""

WANTED = "a JSON object {topic_id, references: [id], answer: [{text, citations: [place in references]}]}"


class _Sentence(Record):
    text: str
    citations: list[int]


class _Metadata(Record):
    narrative_id: str | int
    narrative: str = ""


class _Answer(Record):
    topic_id: str | int | None = None
    topic: str = ""
    metadata: _Metadata | None = None
    references: list[str | int]
    answer: list[_Sentence]


def write(cited: CitedAnswer, submission: Submission) -> bytes:
    """The line of one turn. A passage that a sentence cites at two places is cited once: there are no places here.

    Of more than 100 cited passages the first 100 are kept, with a warning.
    """
    said, topic = cited.said(), str(cited.id)
    ids = list(dict.fromkeys(citation.passage_id for sentence in said for citation in sentence.citations))
    if len(ids) > REFERENCES:
        log.warning("turn %s cites %d passages; trec-rag takes the first %d", cited.id, len(ids), REFERENCES)
    places = {id: place for place, id in enumerate(ids[:REFERENCES])}
    answer = [
        {
            "text": sentence.text,
            "citations": list(
                dict.fromkeys(places[c.passage_id] for c in sentence.citations if c.passage_id in places)
            ),
        }
        for sentence in said
    ]
    record = {
        "run_id": submission.run_id,
        "topic_id": topic,
        "topic": cited.question,
        "references": list(places),
        "response_length": sum(words(sentence.text) for sentence in said),
        "answer": answer,
        "metadata": {
            "team_id": submission.team_id,
            "run_id": submission.run_id,
            "type": "automatic",
            "narrative_id": topic,
            "narrative": cited.question,
        },
    }
    return to_json_bytes(record) + b"\n"


def words(text: str) -> int:
    """How many words the track's check counts: what stands between blanks, after NFKC.

    >>> words("One\\u00a0two, three.")
    3
    """
    return len(unicodedata.normalize("NFKC", text).split())


def read(path: Path, language: str = "en") -> Iterator[CitedAnswer]:
    """The answers of a file of 2024 or 2025. Citations have no offsets; an answer without sentences is a no-answer."""
    for where, record in read_records(path, _Answer, WANTED):
        ids = [str(id) for id in record.references]
        sentences = []
        for place, sentence in enumerate(record.answer):
            if wrong := [citation for citation in sentence.citations if not 0 <= citation < len(ids)]:
                raise InputError(
                    f"{where}: answer[{place}].citations: found {wrong[0]}; wanted places among the {len(ids)} "
                    "references, from 0."
                )
            sentences.append(Sentence(sentence.text, tuple(Citation(ids[citation]) for citation in sentence.citations)))
        yield _cited(where, record, Answer.of(sentences, language) if sentences else Answer("none", ""))


def _cited(where: str, record: _Answer, answer: Answer) -> CitedAnswer:
    if record.topic_id is not None:
        return CitedAnswer(turn_named(record.topic_id), answer, record.topic)
    if record.metadata is not None:
        return CitedAnswer(turn_named(record.metadata.narrative_id), answer, record.metadata.narrative)
    raise InputError(f"{where}: topic_id (or metadata.narrative_id) is missing. Wanted is {WANTED}.")


FORMAT = Format("trec-rag", "TREC RAG's answers, a JSON line each", write, read)
