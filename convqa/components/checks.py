"""Checks of what members return: values of the right types, answers, readings and citations; the explicit no-answer.

The base classes of the stations run them (:mod:`convqa.components.base`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from convqa.domain import Answer, Citation, Failure, Passage, Ranking, Reading
from convqa.domain.answer import joined
from convqa.validation import shorten

logger = logging.getLogger(__name__)

_KINDS = ("answer", "question", "talk", "none")
_NEAREST = 3


def verified(answer: Answer, ranking: Ranking) -> Answer:
    """Return the answer if it is consistent with its turn's ranking.

    Citations refer to passages of the ranking, and their offsets to text that is not only white space. The text of kind
    ``answer`` is its sentences, joined by a space or by nothing, with at least one citation or mark. A ``question``
    has a text. ``talk`` has sentences, ``none`` a reason, and neither has a text; only ``none`` withholds a sentence.

    :raises ValueError: for any other answer.
    """
    if answer.kind not in _KINDS:
        raise ValueError(f"expected an answer of kind {', '.join(_KINDS)}, got {answer.kind!r}")
    has_text = answer.text.strip() != ""
    if has_text != (answer.kind in ("answer", "question")):
        raise ValueError(f"the answer of kind {answer.kind!r} has the text {shorten(answer.text)}")
    if answer.kind == "none" and not answer.reason.strip():
        raise ValueError("the answer is of kind 'none' but has no reason")
    if answer.kind != "none" and answer.withheld is not None:
        raise ValueError(f"the answer is of kind {answer.kind!r} but withholds a sentence")
    if answer.kind == "answer":
        _check_text(answer)
    if answer.score is not None and not 0 <= answer.score <= 1:
        raise ValueError(f"expected a score from 0 to 1 or None for the answer, got {answer.score}")
    passages = {hit.id: hit.passage for hit in ranking.hits}
    withheld = () if answer.withheld is None else (answer.withheld,)
    for sentence in (*answer.sentences, *withheld):
        for citation in sentence.citations:
            _check_citation(citation, passages)
    return answer


def located(reading: Reading, ranking: Ranking) -> None:
    """Check the spans of a reading. :raises ValueError: if one is outside the texts of the ranking."""
    texts = ranking.texts()
    for span in reading.spans:
        if not 0 <= span.start <= span.end <= len(texts.get(span.passage_id, "")):
            position = f"[{span.start}, {span.end}) of passage {span.passage_id!r}"
            raise ValueError(f"the span {position} is outside the texts of the ranking")


def nothing(
    ranking: Ranking,
    reason: str,
    score: float | None = None,
    reading: Reading | None = None,
) -> Answer:
    """Return an explicit no-answer with its reason and the ids of the nearest passages.

    :param reading: passages with its best spans are nearest, then those of the ranking.

    >>> from convqa.domain import Hit
    >>> nothing(Ranking((Hit("a", 2.0),)), "no passage that was found has a text to quote").nearest
    ('a',)
    """
    read = [span.passage_id for span in reading.spans] if reading else []
    nearest = dict.fromkeys([*read, *(hit.id for hit in ranking.hits[:_NEAREST])])
    return Answer(
        "none",
        "",
        reason=reason,
        score=score,
        nearest=tuple(nearest)[:_NEAREST],
    )


def _check_text(answer: Answer) -> None:
    if not all(sentence.text.strip() for sentence in answer.sentences):
        raise ValueError("a sentence of the answer is empty")
    if answer.text not in (joined(answer.sentences, " "), joined(answer.sentences, "")):
        raise ValueError(f"the answer's text differs from its sentences: {shorten(answer.text)}")
    if not any(sentence.citations or sentence.mark for sentence in answer.sentences):
        raise ValueError("the answer has no citation")


def _check_citation(citation: Citation, passages: dict[str, Passage | None]) -> None:
    if citation.passage_id not in passages:
        raise ValueError(f"the answer cites a passage outside its ranking: {citation.passage_id!r}")
    if citation.start is None or citation.end is None:
        return
    passage = passages[citation.passage_id]
    text = "" if passage is None else passage.text
    if citation.end > len(text) or not text[citation.start : citation.end].strip():
        position = f"[{citation.start}, {citation.end}) of passage {citation.passage_id!r}"
        raise ValueError(f"the answer quotes {position}, where the ranking has no text")


def returned(
    result: object,
    expected: type,
    count: int,
    cls: type,
) -> list[Any]:
    """Check what a class returned for ``count`` turns. Each value may also be a Failure.

    :raises TypeError: saying what was expected and what was returned.
    :raises ValueError: for a ranking with unsorted or repeated hits.
    """
    kind = expected.__name__
    who = f"{cls.__module__}.{cls.__qualname__}"
    if isinstance(result, str | bytes | Mapping) or not isinstance(result, Iterable):
        raise TypeError(f"{who} returned {shown(result)}; expected a list with one {kind} for each turn")
    values = list(result)
    if len(values) != count:
        raise TypeError(f"{who} returned {len(values)} values; expected {count}, one {kind} for each turn")
    for value in values:
        if not isinstance(value, expected | Failure):
            raise TypeError(f"{who} returned {shown(value)}; expected {expected.__module__}.{kind}")
        if isinstance(value, Ranking):
            ids = [hit.id for hit in value.hits]
            if len(set(ids)) < len(ids) or ids != [hit.id for hit in Ranking.of(value.hits).hits]:
                raise ValueError(f"{who} returned a Ranking with unsorted or repeated hits; see Ranking.of")
    return values


def failed(stage: str, error: Exception) -> Failure:
    """Return the Failure for an error, with 2,000 characters of its message, and log the traceback."""
    logger.debug("%s failed", stage, exc_info=error)
    return Failure(stage, type(error).__name__, str(error)[:2000])


def shown(value: object) -> str:
    """Return a value for a message: the value itself if it is a scalar, otherwise its type."""
    plain = value is None or isinstance(value, str | bytes | int | float)
    return shorten(value) if plain else f"a value of type {type(value).__qualname__}"
