"""TREC RAG: a JSON line for each turn, whose sentences cite a list of passage ids by place, from 0.

The fields are those of Ragnarök's results of 2024 (run_id, topic_id, topic, references, response_length, answer;
Pradeep et al., arXiv 2406.16828) with the metadata that the track's check of 2025 asks for (team_id, run_id, type,
narrative_id, narrative), so that one file serves both. What is ours in the metadata, ``conversation`` and ``turn``, is
whose answer it is.
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
    """The line of one turn. A passage that a sentence cites at two places is cited once: there are no places here.

    The topic is the conversation where it has one turn, else ``CONVERSATION_TURN``. References are what is cited, in
    that order.

    :param most: references; of more the first are kept, with a warning that names the others.
    """
    said = cited.said()
    topic = str(cited.id.conversation) if cited.alone else str(cited.id)
    ids = list(dict.fromkeys(citation.passage_id for sentence in said for citation in sentence.citations))
    if len(ids) > most:
        log.warning(
            "turn %s cites %d passages; trec-rag takes the first %d. Left out: %s",
            cited.id, len(ids), most, ", ".join(ids[most:]),
        )  # fmt: skip
    places = {id: place for place, id in enumerate(ids[:most])}
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
    """Warn of what the checks of 2024 and 2025 refuse, do not know or cut, where the writer cannot change it."""
    if not cited.alone:
        yield "TREC RAG has no conversations: topics of several turns, such as 1_1, are not in the track"
    if not all(_SEGMENT.match(c.passage_id) for sentence in cited.said() for c in sentence.citations):
        yield "TREC RAG only takes runs over MS MARCO v2.1: some cited passages are not segments of it"
    if _length(cited) > _WORDS:
        yield f"TREC RAG takes answers of {_WORDS} words, and cuts sentences off the end of a longer one"


def _length(cited: CitedAnswer) -> int:
    return sum(words(sentence.text) for sentence in cited.said())


def words(text: str) -> int:
    """How many words the track's checks count: what stands between blanks, after NFKC.

    >>> words("One\\u00a0two, three.")
    3
    """
    return len(unicodedata.normalize("NFKC", text).split())


FORMATS = [
    Format(
        "trec-rag",
        "TREC RAG's answers, a JSON line each",
        partial(write, most=20),
        warnings=warnings,
        run_types=("automatic", "manual"),
    ),
    Format(
        "trec-rag-2025",
        "the same, with up to 100 references",
        partial(write, most=100),
        warnings=warnings,
        run_types=("automatic", "manual"),
    ),
]
