"""What the checks of the TREC RAG tracks of 2024 and 2025 refuse, cut off or mend.

The rules are those of castorini/ragnarok, src/ragnarok/scripts: ``rag24_validation.py`` and ``rag25_validation.py``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
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
        self._runs: set[object] = set()
        self._answered: set[object] = set()

    def __call__(self, line: bytes) -> Iterator[str]:
        record = json.loads(line)
        for year in self._years:
            rules = self._of_2024(record) if year == 2024 else self._of_2025(record)
            yield from (f"TREC RAG {year}'s check {rule}" for rule, broken in rules.items() if broken)

    def _of_2024(self, record: Mapping[str, Any]) -> dict[str, bool]:
        if not record.keys() >= set(_FIELDS):
            return {f"refuses records without all of {', '.join(_FIELDS)}": True}
        topic, run, ids = record["topic_id"], record["run_id"], record["references"]
        text = (self._topics or {}).get(topic, record["topic"])
        rules = {
            "refuses several run_ids in a file": bool(self._runs - {run}),
            "refuses two answers to a topic": topic in self._answered,
            "refuses a topic whose text is not the track's own": text != record["topic"],
            "refuses references that are no segments of MS MARCO v2.1": not all(map(_SEGMENT.match, ids)),
            "mends a response_length that is not the answer's": _length(record) != record["response_length"],
        }
        self._runs.add(run)
        self._answered.add(topic)
        return rules | self._of_both(2024, record, topic)

    def _of_2025(self, record: Mapping[str, Any]) -> dict[str, bool]:
        metadata = record.get("metadata") or {}
        if not (metadata.keys() >= set(_METADATA) and record.keys() >= {"references", "answer"}):
            return {f"refuses records without references, answer and, in metadata, {', '.join(_METADATA)}": True}
        kind = metadata.get("type", "manual")
        rules = {"refuses a type that is neither manual nor automatic": kind not in {"manual", "automatic"}}
        return rules | self._of_both(2025, record, str(metadata["narrative_id"]))

    def _of_both(self, year: int, record: Mapping[str, Any], topic: object) -> dict[str, bool]:
        ids, cited = record["references"], [sentence["citations"] for sentence in record["answer"]]
        allowed = [set(range(len(ids))), set(ids) if year == 2025 else set()]
        return {
            "refuses a topic that is none of the track's": self._topics is not None and topic not in self._topics,
            f"takes at most {MOST_REFERENCES[year]} references": len(ids) > MOST_REFERENCES[year],
            "takes a reference once": len(set(ids)) < len(ids),
            "refuses citations that are no places in the references (nor all of them, in 2025, their ids)": not any(
                one.issuperset(citation for some in cited for citation in some) for one in allowed
            ),
            "removes a citation that a sentence has twice": any(len(set(one)) < len(one) for one in cited),
            f"cuts sentences off the end of an answer of more than {MOST_WORDS} words": _length(record) > MOST_WORDS,
        }


def _length(record: Mapping[str, Any]) -> int:
    return sum(words(sentence["text"]) for sentence in record["answer"])


def words(text: str) -> int:
    """How many words the track's checks count: what stands between blanks, after NFKC.

    >>> words("One\\u00a0two, three.")
    3
    """
    return len(unicodedata.normalize("NFKC", text).split())
