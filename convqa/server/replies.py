"""Turns as JSON replies of the API, with numbered citations and offsets in code points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten

from typing_extensions import TypedDict

from convqa.domain import Answer, AnswerKind, Failure, Passage, Ranking, Response, Rewrite, quotes
from convqa.exports.text import begins_item, numbered

RANKED = 20
"""Maximum hits of a ranking in a reply."""

NEAREST = 160
"""Maximum characters of a nearest passage in a reply."""

NO_LONGER = Failure("access", "NotAllowed", "You may no longer see the passages of this answer.")


class RewriteReply(TypedDict):
    """The self-contained question. ``added``: characters [start, end) of ``text`` that come from the conversation."""

    text: str
    added: list[list[int]]


class HitReply(TypedDict):
    """A passage of the ranking. Title and url may be empty."""

    id: str
    score: float
    title: str
    url: str


class SentenceReply(TypedDict):
    """Characters [start, end) of the answer's text. ``item``: whether a list item begins there."""

    text: str
    start: int
    end: int
    item: bool
    citations: list[int]


class NearestReply(TypedDict):
    """A nearest passage, with its first words."""

    id: str
    title: str
    text: str


class AnswerReply(TypedDict):
    """An answer; of kind ``question``, a question to the user; of kind ``none``, a reason and the nearest passages.

    ``score``: how well the passages answer, 0 to 1; null if undecided.
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
    """Characters [start, end) of a passage's text, and the quote there; null = the whole passage."""

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

    ``caveat``: a sentence of warning for the user, such as that the language model was unavailable.
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
    """Return the reply for a turn. A failure names the station; details are in the server's log."""
    failure, rewrite, error = response.error, response.rewrite, None
    if failure is not None:
        message = failure.message if failure is NO_LONGER else f"The {failure.stage} failed to process this question."
        error = ErrorReply(stage=failure.stage, message=message)
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
        "error": error,
    }


def rewritten(rewrite: Rewrite, added: Sequence[tuple[int, int]]) -> RewriteReply:
    """Return the reply for a rewrite, with the characters that come from the conversation."""
    return {"text": rewrite.text, "added": [list(span) for span in added]}


def ranking(ranking: Ranking | None) -> list[HitReply]:
    """Return the best hits."""
    return [
        {"id": hit.id, "score": hit.score, "title": passage.title, "url": passage.url}
        for hit in (ranking.hits[:RANKED] if ranking else ())
        for passage in [hit.passage or _NAMELESS]
    ]


def citations(response: Response) -> list[CitationReply]:
    """Return the citations of an answer by number."""
    if response.answer is None:
        return []
    passages, quoted = _passages(response.ranking), quotes(response.answer, response.ranking or Ranking())
    return [
        {
            "number": number,
            "passage": citation.passage_id,
            "title": passage.title,
            "url": passage.url,
            "start": citation.start,
            "end": citation.end,
            "quote": quoted[citation],
        }
        for citation, number in numbered(response.answer).items()
        for passage in [passages.get(citation.passage_id, _NAMELESS)]
    ]


def _answer(answer: Answer, passages: Mapping[str, Passage]) -> AnswerReply:
    nearest: list[NearestReply] = [
        {"id": id, "title": passage.title, "text": shorten(passage.text, NEAREST, placeholder=" ...")}
        for id in answer.nearest
        for passage in [passages.get(id, _NAMELESS)]
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
    result: list[SentenceReply] = []
    for sentence in answer.sentences:
        start = max(answer.text.find(sentence.text, end), end)
        end = start + len(sentence.text)
        cited = [numbers[citation] for citation in sentence.citations]
        item = begins_item(sentence.text)
        result.append({"text": sentence.text, "start": start, "end": end, "item": item, "citations": cited})
    return result


def _passages(ranking: Ranking | None) -> dict[str, Passage]:
    return {hit.id: hit.passage for hit in (ranking.hits if ranking else ()) if hit.passage is not None}


_NAMELESS = Passage("", "")
