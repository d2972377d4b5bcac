"""Reads the exports of ``convqa.exports`` back, to test that none loses or shifts a citation.

``READERS[name](path, language)`` yields the answers of a file as ``CitedAnswer``, as far as the format holds them.
``TrecRagCheck`` applies the rules of the track's own checks.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from convqa.domain import Answer, Citation, Passage, Response, Sentence, TurnId
from convqa.domain.answer import UNSPACED
from convqa.exports import CitedAnswer
from convqa.exports.text import FIELD, WHOLE

_LONG = {"n": "\n", "r": "\r", "&": ""}
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|(.))")
_MARKS = re.compile(r" ((?:\[[0-9]+\])+)\Z")
_TURN = re.compile(r'Conversation (?:(-?[0-9]+)|"(.*)"), turn (-?[0-9]+)')
_SOURCE = re.compile(r"\[([0-9]+)\](?: (.*))?")
_PLACE = re.compile(r"characters ([0-9]+)-([0-9]+): (.*)")


def read_trec_rag(path: Path, language: str = "en") -> Iterator[CitedAnswer]:
    """Read the formats of 2024 and 2025. A citation is an index into the references, or an id, without offsets.

    An answer without sentences is a no-answer. A topic of another system is a conversation of one turn.
    """
    for record in _records(path):
        ids, metadata = record["references"], record.get("metadata", {})
        sentences = [
            Sentence(one["text"], tuple(Citation(ids[c] if isinstance(c, int) else c) for c in one["citations"]))
            for one in record["answer"]
        ]
        topic = record.get("topic_id", metadata.get("narrative_id"))
        turn = TurnId(metadata.get("conversation", topic), metadata.get("turn", 1))
        question = record.get("topic", metadata.get("narrative", ""))
        yield CitedAnswer(turn, _said(sentences, language), question, response=Response(turn))


def read_ikat(path: Path, language: str = "en") -> Iterator[CitedAnswer]:
    """Read iKAT. Citations have no offsets; an answer without sentences is a no-answer."""
    for record in _records(path):
        sentences = [Sentence(one["text"], tuple(map(Citation, one["citations"]))) for one in record["responses"]]
        turn = turn_named(record["metadata"]["turn_id"])
        yield CitedAnswer(turn, _said(sentences, language), scores=record["references"], response=Response(turn))


def read_jwhr(path: Path, language: str = "en") -> Iterator[CitedAnswer]:
    """Read JWHR. Citations are indexes into the references, without passage ids and offsets."""
    for record in _records(path):
        answer = record.get("answer", {"text": "", "sentences": []})
        sentences = [
            Sentence(one["text"], tuple(Citation(str(c)) for c in one["citations"])) for one in answer["sentences"]
        ]
        if language not in UNSPACED:
            sentences[1:] = [replace(sentence, text=sentence.text.removeprefix(" ")) for sentence in sentences[1:]]
        if answer["text"] and not sentences:
            sentences = [Sentence(answer["text"])]
        pages = [reference.get("page", {}) for reference in record["references"]]
        turn = turn_named(record["turn"]) if "turn" in record else TurnId(record["id"], 1)
        yield CitedAnswer(
            turn,
            _said(sentences, language),
            record["question"],
            sources={
                str(place): Passage(str(place), "", page["title"], page["url"])
                for place, page in enumerate(pages)
                if page
            },
            quotes={Citation(str(place)): page["quote"]["text"] for place, page in enumerate(pages) if "quote" in page},
            response=Response(turn),
        )


def read_evidence(path: Path, language: str = "en") -> Iterator[CitedAnswer]:
    """Read evidence. Text between cited sentences is a sentence without citations."""
    for record in json.loads(path.read_bytes()):
        text, items = record["Model_answer"], record["Model_citations"]
        citations = [(item["sentence"], Citation(item["passage_id"], item["start"], item["end"])) for item in items]
        sentences = _cut(text, citations, "" if language in UNSPACED else " ")
        kind = "answer" if text or sentences else "none"
        answer = Answer(kind, text, sentences, score=record.get("Model_answer_score"))  # type: ignore[arg-type]
        quoted = {citation: item["text"] for (_, citation), item in zip(citations, items, strict=True)}
        turn = TurnId(record["Conversation_no"], record["Turn_no"])
        yield CitedAnswer(turn, answer, quotes=quoted, response=Response(turn))


def read_text(path: Path, language: str = "en") -> Iterator[CitedAnswer]:
    """Read text. A citation without offsets loses its quote."""
    lines: list[str] = []
    for line in path.read_bytes().decode().split("\n"):
        if lines and _TURN.fullmatch(line):
            yield _cited(lines, language)
            lines = []
        if line:
            lines.append(line)
    if lines:
        yield _cited(lines, language)


READERS = {
    "trec-rag": read_trec_rag,
    "trec-rag-2025": read_trec_rag,
    "ikat": read_ikat,
    "jwhr": read_jwhr,
    "evidence": read_evidence,
    "text": read_text,
}


def turn_named(name: str) -> TurnId:
    """Return the turn of a name that ``str(TurnId)`` made; the conversation "12" becomes 12."""
    conversation, _, number = name.rpartition("_")
    return TurnId(int(conversation) if _is_whole(conversation) else conversation, int(number))


def unescape(text: str) -> str:
    """Undo ``convqa.exports.text.escape``."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _LONG.get(found[2], found[2]), text)


def _records(path: Path) -> Iterator[Any]:
    return (json.loads(line) for line in path.read_bytes().split(b"\n") if line)


def _said(sentences: list[Sentence], language: str) -> Answer:
    return Answer.of(sentences, language) if sentences else Answer("none", "")


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 20 and str(int(text)) == text


def _cut(text: str, citations: Sequence[tuple[str, Citation]], joint: str) -> tuple[Sentence, ...]:
    """Cut a text at its cited sentences, in order, each at its first possible position."""
    sentences: list[Sentence] = []
    end = 0
    for sentence, group in groupby(citations, key=lambda citation: citation[0]):
        next_to = end + len(joint) if end else 0
        start = next_to if text.startswith(sentence, next_to) else text.index(sentence, end)
        sentences += _uncited(text[end:start].removesuffix(joint), joint if sentences else "")
        sentences.append(Sentence(sentence, tuple(citation for _, citation in group)))
        end = start + len(sentence)
    return (*sentences, *_uncited(text[end:], joint if sentences else ""))


def _uncited(gap: str, joint: str) -> list[Sentence]:
    return [Sentence(gap.removeprefix(joint))] if gap.strip() else []


def _cited(lines: list[str], language: str) -> CitedAnswer:
    """Parse a turn from its lines."""
    turn = _TURN.fullmatch(lines[0])
    assert turn is not None, lines[0]
    fields: dict[str, list[str]] = {}
    said: list[tuple[str, list[int]]] = []
    places: dict[int, _Place] = {}
    for line in lines[1:]:
        if line.startswith("    "):
            list(places.values())[-1].take(line[4:])
        elif found := _SOURCE.fullmatch(line):
            places[int(found[1])] = _Place(unescape(found[2] or ""))
        elif found := FIELD.fullmatch(line):
            fields.setdefault(found[1], []).append(unescape(found[2] or ""))
        else:
            marks = _MARKS.search(line)
            text = line[: marks.start()] if marks else line
            said.append((unescape(text), [int(n) for n in re.findall("[0-9]+", marks[1])] if marks else []))
    citations = {number: place.citation() for number, place in places.items()}
    sentences = [Sentence(text, tuple(citations[number] for number in numbers)) for text, numbers in said]
    conversation = unescape(turn[2]) if turn[1] is None else int(turn[1])
    id = TurnId(conversation, int(turn[3]))
    return CitedAnswer(
        id,
        _answer(fields, sentences, language),
        fields.get("Question", [""])[0],
        sources={place.id: Passage(place.id, "", place.title, place.url) for place in places.values()},
        quotes={citations[n]: place.quote for n, place in places.items() if place.quote is not None},
        response=Response(id),
    )


@dataclass(slots=True)
class _Place:
    """A numbered source, while its lines are read."""

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
        else:
            assert line == WHOLE, line

    def citation(self) -> Citation:
        return Citation(self.id, self.start, self.end)


def _answer(fields: dict[str, list[str]], sentences: list[Sentence], language: str) -> Answer:
    label, score = fields.get("Label", [""])[0], fields.get("Score")
    answer = replace(Answer.of(sentences, language, float(score[0]) if score else None), label=label)
    if "No answer" in fields:
        return replace(answer, kind="none", reason=fields["No answer"][0], nearest=tuple(fields.get("Nearest", ())))
    return replace(answer, kind="question", text=fields["Asks back"][0]) if "Asks back" in fields else answer


MOST_WORDS = 400
MOST_REFERENCES = {2024: 20, 2025: 100}

_SEGMENT = re.compile(r"msmarco_v2\.1_doc_\d+_\d+#\d+_\d+")
_FIELDS = ("run_id", "topic_id", "topic", "references", "response_length", "answer")
_METADATA = ("team_id", "run_id", "narrative_id")


class TrecRagCheck:
    """Finds lines that the checks of TREC RAG 2024 and 2025 refuse, cut or repair.

    The rules are those of castorini/ragnarok, src/ragnarok/scripts: rag24_validation.py and rag25_validation.py.
    Called with each line of a file, it returns the rules that the line breaks, in the same words for the same rule.

    :param years: whose rules. :param topics: the track's topics (id -> text), if available.
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
            "refuses references that are not segments of MS MARCO v2.1": not all(map(_SEGMENT.match, ids)),
            "corrects a response_length that is not the answer's": _length(record) != record["response_length"],
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
            "refuses a topic that is not in the track": self._topics is not None and topic not in self._topics,
            f"takes at most {MOST_REFERENCES[year]} references": len(ids) > MOST_REFERENCES[year],
            "keeps a reference once": len(set(ids)) < len(ids),
            "refuses citations that are not indexes into the references (or, in 2025, all ids of them)": not any(
                one.issuperset(citation for some in cited for citation in some) for one in allowed
            ),
            "removes a citation that a sentence has twice": any(len(set(one)) < len(one) for one in cited),
            f"cuts sentences off the end of an answer of more than {MOST_WORDS} words": _length(record) > MOST_WORDS,
        }


def _length(record: Mapping[str, Any]) -> int:
    return sum(len(unicodedata.normalize("NFKC", sentence["text"]).split()) for sentence in record["answer"])
