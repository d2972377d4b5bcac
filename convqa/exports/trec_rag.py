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
from convqa.files import log, to_json_bytes

_SEGMENT = re.compile(r"msmarco_v2\.1_doc_\d+_\d+#\d+_\d+")
_WORDS = 400


def write(cited: CitedAnswer, submission: Submission, most: int) -> bytes:
    """Format the line of one turn. A sentence cites a passage once, since the format has no offsets.

    The topic is the conversation, or ``CONVERSATION_TURN`` if that has several turns.

    :param most: maximum number of references; a warning names the others.
    """
    sentences = cited.sentences()
    topic = str(cited.id.conversation) if cited.alone else str(cited.id)
    ids = list(dict.fromkeys(citation.passage_id for sentence in sentences for citation in sentence.citations))
    if len(ids) > most:
        log.warning(
            "turn %s cites %d passages; trec-rag takes the first %d. Left out: %s",
            cited.id, len(ids), most, ", ".join(ids[most:]),
        )  # fmt: skip
    indexes = {id: index for index, id in enumerate(ids[:most])}
    answer = []
    for sentence in sentences:
        cites = dict.fromkeys(indexes[c.passage_id] for c in sentence.citations if c.passage_id in indexes)
        answer.append({"text": sentence.text, "citations": list(cites)})
    record = {
        "run_id": submission.run_id,
        "topic_id": topic,
        "topic": cited.question,
        "references": list(indexes),
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


def warnings(cited: CitedAnswer) -> Iterator[str]:
    """Yield warnings of answers that the checks of 2024 and 2025 refuse or cut."""
    if not cited.alone:
        yield "TREC RAG has no conversations: topics of several turns, such as 1_1, are not in the track"
    if not all(_SEGMENT.match(c.passage_id) for sentence in cited.sentences() for c in sentence.citations):
        yield "TREC RAG only accepts runs over MS MARCO v2.1: some cited passages are not segments of it"
    if _length(cited) > _WORDS:
        yield f"TREC RAG accepts answers of {_WORDS} words, and cuts the last sentences of a longer one"


def _length(cited: CitedAnswer) -> int:
    return sum(words(sentence.text) for sentence in cited.sentences())


def words(text: str) -> int:
    """Count words as the track's checks do: separated by blanks, after NFKC.

    >>> words("One\\u00a0two, three.")
    3
    """
    return len(unicodedata.normalize("NFKC", text).split())


FORMATS = [
    Format(name, partial(write, most=most), warnings=warnings, run_types=("automatic", "manual"))
    for name, most in (("trec-rag", 20), ("trec-rag-2025", 100))
]
