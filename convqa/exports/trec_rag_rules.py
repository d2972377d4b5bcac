"""What the checks of the TREC RAG tracks of 2024 and 2025 refuse, cut off or complain about.

The rules are those of castorini/ragnarok, src/ragnarok/scripts: ``rag24_validation.py`` and ``rag25_validation.py``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

MOST_WORDS = 400
MOST_REFERENCES = {2024: 20, 2025: 100}

_SEGMENT = re.compile(r"msmarco_v2\.1_doc_\d+_\d+#\d+_\d+")
_FIELDS = ("run_id", "topic_id", "topic", "references", "response_length", "answer")
_METADATA = ("team_id", "run_id", "narrative_id")


class Check:
    """Called with each line of a file, names the rules that it breaks; the same words for the same rule.

    :param years: whose rules. :param topics: the track's, id -> text, where they are at hand.
    """

    def __init__(self, *years: int, topics: Mapping[str, str] | None = None) -> None:
        self._years, self._topics = years, topics
        self._run: object = None
        self._answered: set[tuple[int, object]] = set()

    def __call__(self, line: bytes) -> Iterator[str]:
        record = json.loads(line)
        for year in self._years:
            for problem in self._of_2024(record) if year == 2024 else self._of_2025(record):
                yield f"TREC RAG {year}'s check {problem}"

    def _of_2024(self, record: Mapping[str, Any]) -> Iterator[str]:
        if missing := [name for name in _FIELDS if name not in record]:
            yield f"refuses records without {', '.join(missing)}"
            return
        if self._run not in (None, record["run_id"]):
            yield "refuses several run_ids in a file"
        self._run = record["run_id"]
        yield from self._topic(2024, record["topic_id"])
        if self._topics is not None and self._topics.get(record["topic_id"], record["topic"]) != record["topic"]:
            yield "refuses a topic whose text is not the track's own"
        ids = record["references"]
        if not all(map(_SEGMENT.match, ids)):
            yield "refuses references that are no segments of MS MARCO v2.1"
        yield from _references(2024, ids)
        yield from _citations(record["answer"], ids, (int,))
        length = sum(words(sentence["text"]) for sentence in record["answer"])
        if length > MOST_WORDS:
            yield f"cuts sentences off the end of an answer of more than {MOST_WORDS} words"
        if length != record["response_length"]:
            yield "mends a response_length that is not the answer's"

    def _of_2025(self, record: Mapping[str, Any]) -> Iterator[str]:
        metadata, ids, answer = (record.get(name) for name in ("metadata", "references", "answer"))
        if not isinstance(metadata, dict) or not isinstance(ids, list) or not isinstance(answer, list):
            yield "refuses records without metadata (an object), references and answer (lists)"
            return
        if missing := [name for name in _METADATA if name not in metadata]:
            yield f"refuses metadata without {', '.join(missing)}"
        else:
            yield from self._topic(2025, str(metadata["narrative_id"]))
        if metadata.get("type", "manual") not in {"manual", "automatic"}:
            yield "refuses a type that is neither manual nor automatic"
        yield from _references(2025, ids)
        yield from _citations(answer, ids, (int, str))
        if sum(words(sentence["text"]) for sentence in answer) > MOST_WORDS:
            yield f"cuts sentences off the end of an answer of more than {MOST_WORDS} words"

    def _topic(self, year: int, topic: object) -> Iterator[str]:
        if self._topics is not None and topic not in self._topics:
            yield "refuses a topic that is none of the track's"
        if (year, topic) in self._answered and year == 2024:
            yield "refuses two answers to a topic"
        self._answered.add((year, topic))


def _references(year: int, ids: Sequence[str]) -> Iterator[str]:
    if len(ids) > MOST_REFERENCES[year]:
        yield f"takes at most {MOST_REFERENCES[year]} references"
    if len(set(ids)) < len(ids):
        yield "takes a reference once"


def _citations(answer: Sequence[Mapping[str, Any]], ids: Sequence[str], kinds: tuple[type, ...]) -> Iterator[str]:
    """The citations of a file are places in its references or, in 2025, their ids."""
    cited = [citation for sentence in answer for citation in sentence["citations"]]
    places: Container[object] = range(len(ids))
    if not any(all(type(citation) is kind for citation in cited) for kind in kinds):
        yield "refuses citations that are neither places in the references nor, in 2025, their ids"
    elif any(citation not in (places if isinstance(citation, int) else ids) for citation in cited):
        yield "refuses citations of no reference"
    if any(len(set(sentence["citations"])) < len(sentence["citations"]) for sentence in answer):
        yield "removes a citation that a sentence has twice"


def words(text: str) -> int:
    """How many words the track's checks count: what stands between blanks, after NFKC.

    >>> words("One\\u00a0two, three.")
    3
    """
    return len(unicodedata.normalize("NFKC", text).split())
