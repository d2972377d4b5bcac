"""Turns as JSON replies of the API, with numbered citations and offsets in code points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten

from convqa.domain import Answer, AnswerKind, Failure, Passage, Ranking, Response, Rewrite, quotes
from convqa.exports.text import begins_item, numbered

RANKED = 20
"""Maximum hits of a ranking in a reply."""

NEAREST = 160
"""Maximum characters of a nearest passage in a reply."""

NO_LONGER = Failure("access", "NotAllowed", "You may no longer see the passages of this answer.")


@dataclass(frozen=True, slots=True)
class RewriteReply:
    """The self-contained question. ``added``: characters [start, end) of ``text`` that come from the conversation."""

    text: str
    added: list[list[int]]


@dataclass(frozen=True, slots=True)
class HitReply:
    """A passage of the ranking. Title and url may be empty."""

    id: str
    score: float
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class SentenceReply:
    """Characters [start, end) of the answer's text. ``item``: whether a list item begins there."""

    text: str
    start: int
    end: int
    item: bool
    citations: list[int]


@dataclass(frozen=True, slots=True)
class NearestReply:
    """A nearest passage, with its first words."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class AnswerReply:
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


@dataclass(frozen=True, slots=True)
class CitationReply:
    """Characters [start, end) of a passage's text, and the quote there; null = the whole passage."""

    number: int
    passage: str
    title: str
    url: str
    start: int | None
    end: int | None
    quote: str


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """The station that failed."""

    stage: str
    message: str


@dataclass(frozen=True, slots=True)
class TurnReply:
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
        error = ErrorReply(failure.stage, message)
    return TurnReply(
        conversation, response.id.number, pipeline, question,
        None if rewrite is None else rewritten(rewrite, response.added), ranking(response.ranking),
        None if response.answer is None else _answer(response.answer, _passages(response.ranking)),
        citations(response), response.caveat, dict(response.timings), error,
    )  # fmt: skip


def rewritten(rewrite: Rewrite, added: Sequence[tuple[int, int]]) -> RewriteReply:
    """Return the reply for a rewrite, with the characters that come from the conversation."""
    return RewriteReply(rewrite.text, [list(span) for span in added])


def ranking(ranking: Ranking | None) -> list[HitReply]:
    """Return the best hits."""
    hits = ranking.hits[:RANKED] if ranking else ()
    named = [(hit, hit.passage or _NAMELESS) for hit in hits]
    return [HitReply(hit.id, hit.score, passage.title, passage.url) for hit, passage in named]


def citations(response: Response) -> list[CitationReply]:
    """Return the citations of an answer by number."""
    if response.answer is None:
        return []
    passages, quoted = _passages(response.ranking), quotes(response.answer, response.ranking or Ranking())
    result = []
    for citation, number in numbered(response.answer).items():
        id, passage = citation.passage_id, passages.get(citation.passage_id, _NAMELESS)
        place = (citation.start, citation.end, quoted[citation])
        result.append(CitationReply(number, id, passage.title, passage.url, *place))
    return result


def _answer(answer: Answer, passages: Mapping[str, Passage]) -> AnswerReply:
    known = [(id, passages.get(id, _NAMELESS)) for id in answer.nearest]
    nearest = [NearestReply(id, one.title, shorten(one.text, NEAREST, placeholder=" ...")) for id, one in known]
    return AnswerReply(
        answer.kind, answer.text, answer.label, answer.reason, answer.score, _sentences(answer), nearest,
        list(answer.notes),
    )  # fmt: skip


def _sentences(answer: Answer) -> list[SentenceReply]:
    numbers, end = numbered(answer), 0
    result: list[SentenceReply] = []
    for sentence in answer.sentences:
        start = max(answer.text.find(sentence.text, end), end)
        end = start + len(sentence.text)
        cited = [numbers[citation] for citation in sentence.citations]
        result.append(SentenceReply(sentence.text, start, end, begins_item(sentence.text), cited))
    return result


def _passages(ranking: Ranking | None) -> dict[str, Passage]:
    return {hit.id: hit.passage for hit in (ranking.hits if ranking else ()) if hit.passage is not None}


_NAMELESS = Passage("", "")
