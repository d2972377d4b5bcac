"""What the API says of a turn: plain JSON, with numbered citations and offsets in code points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

from convqa.domain import Answer, Failure, Passage, Ranking, Response, Rewrite, Turn, quotes
from convqa.exports.text import begins_item, numbered
from convqa.text.dialogue import added, open_question

RANKED = 20
"""Hits of a ranking that a reply names."""

NEAREST = 160
"""Characters by which a passage is named that is near, though no answer."""

NO_LONGER = Failure("access", "NotAllowed", "You may no longer see what this was answered from.")


def turn(response: Response, question: str, pipeline: str, conversation: str | None = None) -> dict[str, Any]:
    """A turn's reply. A failure says which station failed, not how: that stands in the server's log."""
    failure = response.error
    said = failure and (failure.message if failure is NO_LONGER else f"The {failure.stage} failed at this question.")
    return {
        "conversation": conversation,
        "number": response.id.number,
        "pipeline": pipeline,
        "question": question,
        "rewrite": rewrite(response.rewrite, response.added),
        "ranking": ranking(response.ranking),
        "answer": None if response.answer is None else _answer(response.answer, _passages(response)),
        "citations": citations(response),
        "caveat": response.caveat,
        "timings": dict(response.timings),
        "error": failure and {"stage": failure.stage, "message": said},
    }


def rewritten(turn: Turn, made: Rewrite) -> dict[str, Any] | None:
    """The reply's ``rewrite``, before there is a response."""
    return rewrite(made, added(open_question(turn), made.text))


def rewrite(made: Rewrite | None, added: Sequence[tuple[int, int]]) -> dict[str, Any] | None:
    """The self-contained question, with the characters [start, end) that came from the conversation."""
    return None if made is None else {"text": made.text, "added": [list(place) for place in added]}


def ranking(made: Ranking | None) -> list[dict[str, Any]]:
    """The best hits, with title and address where they are at hand."""
    named = ((hit, hit.passage) for hit in (made.hits[:RANKED] if made else ()))
    return [
        {
            "id": hit.id,
            "score": hit.score,
            "title": passage.title if passage else "",
            "url": passage.url if passage else "",
        }
        for hit, passage in named
    ]


def citations(response: Response) -> list[dict[str, Any]]:
    """The places that an answer cites, by number: passage, characters [start, end), and what stands there."""
    if response.answer is None:
        return []
    passages, quoted = _passages(response), quotes(response.answer, response.ranking or Ranking())
    return [
        {
            "number": number,
            "passage": citation.passage_id,
            "title": passages[citation.passage_id].title if citation.passage_id in passages else "",
            "url": passages[citation.passage_id].url if citation.passage_id in passages else "",
            "start": citation.start,
            "end": citation.end,
            "quote": quoted[citation],
        }
        for citation, number in numbered(response.answer).items()
    ]


def sentences(answer: Answer) -> list[tuple[int, int, tuple[int, ...]]]:
    """Each sentence's characters [start, end) of the answer's text, and the numbers of what it cites."""
    numbers, found, end = numbered(answer), [], 0
    for sentence in answer.sentences:
        start = answer.text.index(sentence.text, end) if sentence.text in answer.text[end:] else end
        end = start + len(sentence.text)
        found.append((start, end, tuple(numbers[citation] for citation in sentence.citations)))
    return found


def _answer(answer: Answer, passages: Mapping[str, Passage]) -> dict[str, Any]:
    parts = [
        {
            "text": sentence.text,
            "start": start,
            "end": end,
            "item": begins_item(sentence.text),
            "citations": list(numbers),
        }
        for sentence, (start, end, numbers) in zip(answer.sentences, sentences(answer), strict=True)
    ]
    plain = {name: getattr(answer, name) for name in ("kind", "text", "label", "reason", "score")}
    return {
        **plain,
        "sentences": parts,
        "nearest": [_named(id, passages.get(id)) for id in answer.nearest],
        "notes": list(answer.notes),
    }


def _named(id: str, passage: Passage | None) -> dict[str, str]:
    text = passage.text if passage else ""
    return {"id": id, "title": passage.title if passage else "", "text": shorten(text, NEAREST, placeholder=" ...")}


def _passages(response: Response) -> dict[str, Passage]:
    hits = response.ranking.hits if response.ranking else ()
    return {hit.id: hit.passage for hit in hits if hit.passage is not None}
