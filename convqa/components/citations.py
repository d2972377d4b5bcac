"""Check every answer of a builder or decider and its citations, and make the explicit no-answer.

The base classes of builders and deciders call it (:mod:`convqa.components.base`).
"""

from __future__ import annotations

from convqa.domain import Answer, Citation, Passage, Ranking, Reading
from convqa.validation import shorten

_NEAREST = 3
NOTHING_ASKED = "nothing was asked"


def verified(answer: Answer, ranking: Ranking) -> Answer:
    """The same answer, if its turn's ranking bears it out.

    A citation names a passage of the ranking, which has one text of each; its offsets lie in that text and hold more
    than white space. An answer of kind ``answer`` is its sentences, joined by one blank or by nothing, and cites
    something; a question says something; ``none`` has no text, no sentences, and a reason.

    :raises ValueError: for any other answer.
    """
    if answer.kind == "none":
        if answer.text or answer.sentences:
            raise ValueError(f"there is no answer, and yet a text: {shorten(answer.text)}")
        if not answer.reason.strip():
            raise ValueError("there is no answer, and no reason why")
    elif answer.kind == "answer":
        _check_text(answer)
    elif answer.kind != "question":
        raise ValueError(f"the answer is of kind {answer.kind!r}; wanted answer, question or none")
    elif not answer.text.strip():
        raise ValueError("the answer is a question and asks nothing")
    if answer.score is not None and not 0 <= answer.score <= 1:
        raise ValueError(f"the answer's score is {answer.score}; wanted: 0 to 1, or None")
    passages: dict[str, Passage | None] = {}
    for hit in ranking.hits:
        known = passages.setdefault(hit.id, hit.passage)
        if known is None:
            passages[hit.id] = hit.passage
        elif hit.passage is not None and hit.passage.text != known.text:
            raise ValueError(f"the ranking has two texts of passage {hit.id!r}, so that no citation of it is sure")
    for sentence in answer.sentences:
        for citation in sentence.citations:
            _check_citation(citation, passages)
    return answer


def located(reading: Reading, ranking: Ranking) -> None:
    """:raises ValueError: if a span is in no text of the ranking."""
    texts = {hit.id: hit.passage.text for hit in ranking.hits if hit.passage is not None}
    for span in reading.spans:
        if not 0 <= span.start <= span.end <= len(texts.get(span.passage_id, "")):
            place = f"[{span.start}, {span.end}) of passage {span.passage_id!r}"
            raise ValueError(f"a span is {place}, which is in no text of the ranking")


def nothing(ranking: Ranking, reason: str, score: float | None = None) -> Answer:
    """An explicit no-answer: why there is none, and the passages that came nearest.

    >>> from convqa.domain import Hit
    >>> nothing(Ranking((Hit("a", 2.0),)), "no passage that was found has a text to quote").nearest
    ('a',)
    """
    return Answer("none", "", reason=reason, score=score, nearest=tuple(hit.id for hit in ranking.hits[:_NEAREST]))


def _check_text(answer: Answer) -> None:
    texts = [sentence.text for sentence in answer.sentences]
    if not texts:
        raise ValueError("the answer has no sentence")
    if any(not text.strip() for text in texts):
        raise ValueError("a sentence of the answer is empty")
    if answer.text not in (" ".join(texts), "".join(texts)):
        raise ValueError(f"the answer's text is not that of its sentences: {shorten(answer.text)}")
    if not any(sentence.citations for sentence in answer.sentences):
        raise ValueError("the answer cites nothing")


def _check_citation(citation: Citation, passages: dict[str, Passage | None]) -> None:
    if citation.passage_id not in passages:
        raise ValueError(f"the answer cites a passage outside its ranking: {citation.passage_id!r}")
    if citation.start is None or citation.end is None:
        return
    place = f"[{citation.start}, {citation.end}) of passage {citation.passage_id!r}"
    passage = passages[citation.passage_id]
    if passage is None:
        raise ValueError(f"the answer quotes {place}, whose text the ranking does not hold")
    if citation.end > len(passage.text):
        raise ValueError(f"the answer quotes {place}, which has {len(passage.text)} characters")
    if not passage.text[citation.start : citation.end].strip():
        raise ValueError(f"the answer quotes {place}, where only white space is")
