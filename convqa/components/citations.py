"""Checks of answers, readings and citations, and the explicit no-answer.

The base classes of the stations run them (:mod:`convqa.components.base`).
"""

from __future__ import annotations

from convqa.domain import Answer, Citation, Passage, Ranking, Reading
from convqa.validation import shorten

_NEAREST = 3
NOTHING_ASKED = "nothing was asked"


def verified(answer: Answer, ranking: Ranking) -> Answer:
    """Return the answer if it is consistent with its turn's ranking.

    Citations refer to passages of the ranking, and their offsets to text that is not only white space. The text of kind
    ``answer`` is its sentences, joined by a space or by nothing, with at least one citation. A ``question`` has a text.
    ``none`` has no text, no sentences, and a reason.

    :raises ValueError: for any other answer.
    """
    if answer.kind == "none":
        if answer.text or answer.sentences:
            raise ValueError(f"the answer is of kind 'none' but has a text: {shorten(answer.text)}")
        if not answer.reason.strip():
            raise ValueError("the answer is of kind 'none' but has no reason")
    elif answer.kind == "answer":
        _check_text(answer)
    elif answer.kind != "question":
        raise ValueError(f"expected an answer of kind answer, question or none, got {answer.kind!r}")
    elif not answer.text.strip():
        raise ValueError("the answer is of kind 'question' but has no text")
    if answer.score is not None and not 0 <= answer.score <= 1:
        raise ValueError(f"expected a score from 0 to 1 or None for the answer, got {answer.score}")
    passages: dict[str, Passage | None] = {}
    for hit in ranking.hits:
        passage = passages.setdefault(hit.id, hit.passage)
        if passage is None:
            passages[hit.id] = hit.passage
        elif hit.passage is not None and hit.passage.text != passage.text:
            raise ValueError(f"the ranking has two texts for passage {hit.id!r}, so that its citations are ambiguous")
    for sentence in answer.sentences:
        for citation in sentence.citations:
            _check_citation(citation, passages)
    return answer


def located(reading: Reading, ranking: Ranking) -> None:
    """Check the spans of a reading. :raises ValueError: if one is outside the texts of the ranking."""
    texts = {hit.id: hit.passage.text for hit in ranking.hits if hit.passage is not None}
    for span in reading.spans:
        if not 0 <= span.start <= span.end <= len(texts.get(span.passage_id, "")):
            position = f"[{span.start}, {span.end}) of passage {span.passage_id!r}"
            raise ValueError(f"the span {position} is outside the texts of the ranking")


def nothing(ranking: Ranking, reason: str, score: float | None = None) -> Answer:
    """Return an explicit no-answer with its reason and the ids of the nearest passages.

    >>> from convqa.domain import Hit
    >>> nothing(Ranking((Hit("a", 2.0),)), "no passage that was found has a text to quote").nearest
    ('a',)
    """
    return Answer("none", "", reason=reason, score=score, nearest=tuple(hit.id for hit in ranking.hits[:_NEAREST]))


def _check_text(answer: Answer) -> None:
    texts = [sentence.text for sentence in answer.sentences]
    if not texts:
        raise ValueError("the answer has no sentences")
    if any(not text.strip() for text in texts):
        raise ValueError("a sentence of the answer is empty")
    if answer.text not in (" ".join(texts), "".join(texts)):
        raise ValueError(f"the answer's text differs from its sentences: {shorten(answer.text)}")
    if not any(sentence.citations for sentence in answer.sentences):
        raise ValueError("the answer has no citation")


def _check_citation(citation: Citation, passages: dict[str, Passage | None]) -> None:
    if citation.passage_id not in passages:
        raise ValueError(f"the answer cites a passage outside its ranking: {citation.passage_id!r}")
    if citation.start is None or citation.end is None:
        return
    position = f"[{citation.start}, {citation.end}) of passage {citation.passage_id!r}"
    passage = passages[citation.passage_id]
    if passage is None:
        raise ValueError(f"the answer quotes {position}, whose text is missing in the ranking")
    if citation.end > len(passage.text):
        raise ValueError(f"the answer quotes {position}, which has {len(passage.text)} characters")
    if not passage.text[citation.start : citation.end].strip():
        raise ValueError(f"the answer quotes {position}, which is white space")
