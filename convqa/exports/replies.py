"""Turns as JSON replies of the API, with numbered citations and offsets in code points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten

from convqa.domain import Answer, AnswerKind, Failure, Passage, Ranking, Response, Rewrite, Span
from convqa.exports.cited import NAMELESS, CitedAnswer, unit_at, with_introductions
from convqa.exports.text import begins_item, numbered
from convqa.text.quotes import TableRow, shown, shown_unit, table_row

MAX_HITS = 20
"""Hits of a ranking in a reply."""

MAX_NEAREST_CHARS = 160
"""Characters of a nearest passage of which only the beginning is known."""

MAX_NEAREST = 3
"""Nearest passages of a turn whose pipeline writes no answers."""

MAX_OTHERS = 4
"""Units in a reply that the answer does not quote."""

NO_LONGER = Failure("access", "NotAllowed", "You may no longer see the passages of this answer.")


@dataclass(frozen=True, slots=True)
class RewriteReply:
    """The self-contained question.

    ``added``: characters [start, end) of ``text`` that come from the conversation. ``act``: what the user did instead
    of asking, such as "thanks"; else "".
    """

    text: str
    added: list[list[int]]
    act: str = ""


@dataclass(frozen=True, slots=True)
class HitReply:
    """A passage of the ranking. Title and url may be empty."""

    id: str
    score: float
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class SentenceReply:
    """Characters [start, end) of the answer's text. ``item``: whether a list item begins there.

    ``supported``: whether the passages support what a language model said; null = not checked. ``mark``: the words that
    mark a sentence without support, "" for any other. ``row``: of a sentence that is a quoted row of a table.
    """

    text: str
    start: int
    end: int
    item: bool
    citations: list[int]
    supported: bool | None
    mark: str
    row: TableRow | None


@dataclass(frozen=True, slots=True)
class NearestReply:
    """Characters [start, end) of a passage that are near to the question but not part of the answer.

    Without a reading, the passage's first words, and null.
    """

    id: str
    title: str
    url: str
    text: str
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class AnswerReply:
    """An answer; of kind ``question``, a question to the user; of kind ``none``, a reason and the nearest passages, and
    perhaps sentences of a language model that found none; of kind ``talk``, a reply that needs no passages.

    ``score``: how well the passages answer, 0 to 1; null if undecided. ``withheld``: what was closest to an answer, but
    not close enough. ``others``: the next best units that the answer does not quote.
    """

    kind: AnswerKind
    text: str
    label: str
    reason: str
    score: float | None
    sentences: list[SentenceReply]
    nearest: list[NearestReply]
    withheld: NearestReply | None
    others: list[NearestReply]
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
class FeedbackReply:
    """What a person thinks of an answer."""

    verdict: str
    comment: str


@dataclass(frozen=True, slots=True)
class TurnReply:
    """A turn. Offsets are code points; timings are seconds by station, a turn's share of its batch.

    ``caveat``: a sentence of warning for the user, such as that the language model was unavailable. ``usage``: tokens
    of its prompts and completions.
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
    usage: tuple[int, int]
    error: ErrorReply | None
    feedback: FeedbackReply | None = None


def turn(
    response: Response,
    question: str,
    pipeline: str,
    conversation: str | None = None,
) -> TurnReply:
    """Return the reply for a turn. A failure names the station; details are in the server's log."""
    answer = response.answer
    failure = response.error
    return TurnReply(
        conversation,
        int(response.id.number),
        pipeline,
        question,
        rewrite=rewritten(response.rewrite, response.added) if response.rewrite else None,
        ranking=ranking(response.ranking),
        answer=_answer(answer, response) if answer else None,
        citations=citations(response),
        caveat=response.caveat,
        timings=dict(response.timings),
        usage=response.usage,
        error=ErrorReply(failure.stage, failure_message(failure)) if failure else None,
    )


def failure_message(failure: Failure) -> str:
    """Return what clients learn about a failed turn."""
    if failure is NO_LONGER:
        return failure.message
    return f"The {failure.stage} failed to process this question."


def rewritten(rewrite: Rewrite, added: Sequence[tuple[int, int]]) -> RewriteReply:
    """Return the reply for a rewrite, with the characters that come from the conversation."""
    return RewriteReply(rewrite.text, [list(span) for span in added], rewrite.act)


def ranking(ranking: Ranking | None) -> list[HitReply]:
    """Return the best hits."""
    replies = []
    for hit in ranking.hits[:MAX_HITS] if ranking else ():
        passage = hit.passage or NAMELESS
        replies.append(HitReply(hit.id, hit.score, passage.title, passage.url))
    return replies


def citations(response: Response) -> list[CitationReply]:
    """Return the citations of an answer by number."""
    if response.answer is None:
        return []
    cited = CitedAnswer.of(response)
    passages = cited.passages
    quotes = cited.quotes
    replies = []
    for citation, number in numbered(response.answer).items():
        id = citation.passage_id
        passage = passages.get(id, NAMELESS)
        quote = quotes[citation]
        replies.append(
            CitationReply(number, id, passage.source(citation.start), passage.url, citation.start, citation.end, quote)
        )
    return replies


def withheld(response: Response) -> NearestReply | None:
    """Return the sentence that a refused answer withholds, with its source."""
    sentence = response.answer and response.answer.withheld
    if not sentence:
        return None
    citation = sentence.citations[0]
    return _near(response, citation.passage_id, citation.start, citation.end, sentence.text)


def nearest(response: Response) -> list[NearestReply]:
    """Return the nearest passages of a turn without an answer, each with its best unit of the reading."""
    spans = response.reading.spans if response.reading else ()
    best = {span.passage_id: span for span in reversed(spans)}
    hits = response.ranking.hits[:MAX_NEAREST] if response.ranking else ()
    ids = response.answer.nearest if response.answer else [hit.id for hit in hits]
    return [_unit(response, best[id]) if id in best else _near(response, id) for id in ids]


def others(response: Response) -> list[NearestReply]:
    """Return the best units of the reading that the answer does not quote."""
    answer, reading = response.answer, response.reading
    if answer is None or answer.kind != "answer" or reading is None:
        return []
    quoted = {(citation.passage_id, citation.start) for sentence in answer.sentences for citation in sentence.citations}
    spans = [span for span in reading.spans if (span.passage_id, span.start) not in quoted]
    return [_unit(response, span) for span in spans[:MAX_OTHERS]]


def _unit(response: Response, span: Span) -> NearestReply:
    """Return the reply for a span: rows and items as they are shown in answers."""
    passage = _passage(response, span.passage_id)
    unit = unit_at(passage, span.start)
    text = shown_unit(passage, unit) if unit.end == span.end else shown(span.text)
    return _near(response, span.passage_id, span.start, span.end, text)


def _near(
    response: Response,
    id: str,
    start: int | None = None,
    end: int | None = None,
    text: str = "",
) -> NearestReply:
    passage = _passage(response, id)
    text = text or shorten(passage.text, MAX_NEAREST_CHARS, placeholder=" ...")
    return NearestReply(id, passage.source(start), passage.url, text, start, end)


def _passage(response: Response, id: str) -> Passage:
    passages = response.ranking.passages() if response.ranking else ()
    return next((passage for passage in passages if passage.id == id), NAMELESS)


def _answer(answer: Answer, response: Response) -> AnswerReply:
    return AnswerReply(
        answer.kind,
        answer.shown,
        answer.label,
        answer.reason,
        answer.score,
        sentences(answer, CitedAnswer.of(response).passages),
        nearest(response),
        withheld(response),
        others(response),
        list(answer.notes),
    )


def sentences(answer: Answer, passages: Mapping[str, Passage]) -> list[SentenceReply]:
    numbers = numbered(answer)
    whole = answer.shown
    replies: list[SentenceReply] = []
    end = 0
    for sentence, passage, unit in with_introductions(answer.sentences, passages):
        text = sentence.text
        start = max(whole.find(text, end), end)
        end = start + len(text)
        cited = [numbers[citation] for citation in sentence.citations]
        item = begins_item(text) or unit.kind == "item"
        row = table_row(passage, unit) if unit.kind == "row" else None
        replies.append(SentenceReply(text, start, end, item, cited, sentence.supported, sentence.mark, row))
    return replies
