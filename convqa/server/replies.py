"""What the API says of a turn: plain JSON, with numbered citations and offsets in code points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten

from typing_extensions import TypedDict

from convqa.domain import Answer, AnswerKind, Failure, Passage, Ranking, Response, Rewrite, quotes
from convqa.exports.text import begins_item, numbered

RANKED = 20
"""Hits of a ranking that a reply names."""

NEAREST = 160
"""Characters by which a passage is named that is near, though no answer."""

NO_LONGER = Failure("access", "NotAllowed", "You may no longer see what this was answered from.")


class RewriteReply(TypedDict):
    """The self-contained question. ``added``: the characters [start, end) of ``text`` that the conversation added."""

    text: str
    added: list[list[int]]


class HitReply(TypedDict):
    """A passage of the ranking; title and url are empty where it has none."""

    id: str
    score: float
    title: str
    url: str


class SentenceReply(TypedDict):
    """Characters [start, end) of the answer's text, whether an item of a list begins there, and what it cites."""

    text: str
    start: int
    end: int
    item: bool
    citations: list[int]


class NearestReply(TypedDict):
    """A passage that is near, by its first words."""

    id: str
    title: str
    text: str


class AnswerReply(TypedDict):
    """Of kind ``question`` the system asks back; of kind ``none`` there are a reason and the nearest passages.

    ``score``: how well the passages answer, 0 to 1; null where that was not decided.
    """

    kind: AnswerKind
    text: str
    label: str
    reason: str
    score: float | None
    sentences: list[SentenceReply]
    nearest: list[NearestReply]
    notes: list[str]


class CitationReply(TypedDict):
    """Characters [start, end) of the text of a passage, and what stands there; null: the whole passage."""

    number: int
    passage: str
    title: str
    url: str
    start: int | None
    end: int | None
    quote: str


class ErrorReply(TypedDict):
    """The station that failed."""

    stage: str
    message: str


class TurnReply(TypedDict):
    """A turn. Offsets are code points; timings are seconds by station, a turn's share of its batch.

    ``caveat`` says in a sentence what the user should know of the answer, such as that the language model was away.
    """

    conversation: str | None
    number: int
    pipeline: str
    question: str
    rewrite: RewriteReply | None
    ranking: list[HitReply]
    answer: AnswerReply | None
    citations: list[CitationReply]
    caveat: str
    timings: dict[str, float]
    error: ErrorReply | None


def turn(response: Response, question: str, pipeline: str, conversation: str | None = None) -> TurnReply:
    """A turn's reply. A failure says which station failed, not how: that stands in the server's log."""
    failure, rewrite = response.error, response.rewrite
    said = failure and (failure.message if failure is NO_LONGER else f"The {failure.stage} failed at this question.")
    return {
        "conversation": conversation,
        "number": response.id.number,
        "pipeline": pipeline,
        "question": question,
        "rewrite": None if rewrite is None else rewritten(rewrite, response.added),
        "ranking": ranking(response.ranking),
        "answer": None if response.answer is None else _answer(response.answer, _passages(response.ranking)),
        "citations": citations(response),
        "caveat": response.caveat,
        "timings": dict(response.timings),
        "error": None if failure is None else {"stage": failure.stage, "message": said or ""},
    }


def rewritten(made: Rewrite, added: Sequence[tuple[int, int]]) -> RewriteReply:
    """A rewritten question, with the characters that the conversation added."""
    return {"text": made.text, "added": [list(place) for place in added]}


def ranking(made: Ranking | None) -> list[HitReply]:
    """The best hits."""
    passages = _passages(made)
    return [
        {"id": hit.id, "score": hit.score, "title": named.title, "url": named.url}
        for hit in (made.hits[:RANKED] if made else ())
        for named in [passages.get(hit.id, _NAMELESS)]
    ]


def citations(response: Response) -> list[CitationReply]:
    """The places that an answer cites, by number."""
    if response.answer is None:
        return []
    passages, quoted = _passages(response.ranking), quotes(response.answer, response.ranking or Ranking())
    return [
        {
            "number": number,
            "passage": citation.passage_id,
            "title": named.title,
            "url": named.url,
            "start": citation.start,
            "end": citation.end,
            "quote": quoted[citation],
        }
        for citation, number in numbered(response.answer).items()
        for named in [passages.get(citation.passage_id, _NAMELESS)]
    ]


def _answer(answer: Answer, passages: Mapping[str, Passage]) -> AnswerReply:
    nearest: list[NearestReply] = [
        {"id": id, "title": named.title, "text": shorten(named.text, NEAREST, placeholder=" ...")}
        for id in answer.nearest
        for named in [passages.get(id, _NAMELESS)]
    ]
    return {
        "kind": answer.kind,
        "text": answer.text,
        "label": answer.label,
        "reason": answer.reason,
        "score": answer.score,
        "sentences": _sentences(answer),
        "nearest": nearest,
        "notes": list(answer.notes),
    }


def _sentences(answer: Answer) -> list[SentenceReply]:
    numbers, end = numbered(answer), 0
    found: list[SentenceReply] = []
    for sentence in answer.sentences:
        start = max(answer.text.find(sentence.text, end), end)
        end = start + len(sentence.text)
        cited = [numbers[citation] for citation in sentence.citations]
        item = begins_item(sentence.text)
        found.append({"text": sentence.text, "start": start, "end": end, "item": item, "citations": cited})
    return found


def _passages(ranking: Ranking | None) -> dict[str, Passage]:
    return {hit.id: hit.passage for hit in (ranking.hits if ranking else ()) if hit.passage is not None}


_NAMELESS = Passage("", "")
