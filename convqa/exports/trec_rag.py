"""TREC RAG: a JSON line per turn, whose sentences cite indexes of a list of passage ids.

The fields are those of Ragnarök's results of 2024 (run_id, topic_id, topic, references, response_length, answer;
Pradeep et al., arXiv 2406.16828) with the metadata that the track's check of 2025 requires (team_id, run_id, type,
narrative_id, narrative), so that one file serves both. ``conversation`` and ``turn`` in the metadata are our own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import partial

from convqa.exports.base import Format, Submission
from convqa.exports.cited import CitedAnswer
from convqa.files import to_json_bytes

_SEGMENT = re.compile(r"msmarco_v2\.1_doc_\d+_\d+#\d+_\d+")
MAX_WORDS = 400
"""The track's limit for an answer."""


def write(cited: CitedAnswer, submission: Submission, max_references: int) -> bytes:
    """Format the line of one turn. A sentence cites a passage once, since the format has no offsets.

    The topic is the conversation, or ``CONVERSATION_TURN`` if that has several turns.

    :param max_references: the references beyond it are left out, with a warning.
    """
    topic = str(cited.id.conversation) if cited.alone else str(cited.id)
    references = cited.passage_ids()[:max_references]
    answer = []
    for sentence in cited.sentences():
        passages = dict.fromkeys(citation.passage_id for citation in sentence.citations)
        indexes = [references.index(id) for id in passages if id in references]
        answer.append({"text": sentence.text, "citations": indexes})
    record = {
        "run_id": submission.run_id,
        "topic_id": topic,
        "topic": cited.question,
        "references": references,
        "response_length": _length(cited),
        "answer": answer,
        "metadata": {
            "team_id": submission.team_id,
            "run_id": submission.run_id,
            "type": submission.run_type,
            "narrative_id": topic,
            "narrative": cited.question,
            "conversation": cited.id.conversation,
            "turn": cited.id.number,
        },
    }
    return to_json_bytes(record) + b"\n"


def warnings(cited: CitedAnswer, max_references: int) -> Iterator[str]:
    """Yield warnings of answers that the checks of 2024 and 2025 refuse or cut."""
    if not cited.alone:
        yield "TREC RAG has no conversations: topics of several turns, such as 1_1, are not in the track"
    if not all(_SEGMENT.match(id) for id in cited.passage_ids()):
        yield "TREC RAG only accepts runs over MS MARCO v2.1: some cited passages are not segments of it"
    if len(cited.passage_ids()) > max_references:
        yield f"the format takes {max_references} cited passages: further ones are left out"
    if _length(cited) > MAX_WORDS:
        yield f"TREC RAG accepts answers of {MAX_WORDS} words, and cuts the last sentences of a longer one"


def _length(cited: CitedAnswer) -> int:
    return sum(words(sentence.text) for sentence in cited.sentences())


def words(text: str) -> int:
    """Count words as the track's checks do: separated by blanks, after NFKC.

    >>> words("One\\u00a0two, three.")
    3
    """
    return len(unicodedata.normalize("NFKC", text).split())


def _format(name: str, max_references: int) -> Format:
    return Format(
        name,
        partial(write, max_references=max_references),
        warnings=partial(warnings, max_references=max_references),
        run_types=("automatic", "manual"),
    )


TREC_RAG = _format("trec-rag", max_references=20)
TREC_RAG_2025 = _format("trec-rag-2025", max_references=100)
