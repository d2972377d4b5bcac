"""Readings and answers, with their citations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from convqa.domain.conversation import Listed, Named

AnswerKind = Literal["answer", "question", "none"]

TOLD = "said before"
"""The note of an answer that repeats an earlier answer, because no other sentence is as good."""

UNSURE = "not sure"
"""The note of an answer with a doubtful score."""

UNAIDED = "without the language model"
"""The note of an answer made by the fallback instead of the language model."""

CAVEAT = "caveat: "
"""The prefix of a note of an answer or a rewrite that is shown to the user: a sentence."""

UNSPACED = frozenset({"ja", "zh"})
"""Languages written without spaces between sentences."""


@dataclass(frozen=True, slots=True)
class Span(Listed):
    """Characters ``[start, end)`` of a passage's text, with the text and a score."""

    passage_id: str
    start: int
    end: int
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Reading(Named):
    """Spans of one turn, best first, and the score of "there is no answer here" on the same scale."""

    spans: tuple[Span, ...]
    null_score: float

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Reading:
        spans = tuple(Span.from_json(span) for span in data["spans"])
        return cls(spans, data["null_score"])


@dataclass(frozen=True, slots=True)
class Citation(Listed):
    """A reference to a passage and, if known, to characters ``[start, end)`` of its text: both offsets or neither.

    The quote is ``text[start:end]`` (code points) and is not stored.

    :raises ValueError: if only one of start and end is given, or they are out of order.
    """

    passage_id: str
    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        if self.start is None and self.end is None:
            return
        if not (type(self.start) is int and type(self.end) is int and 0 <= self.start <= self.end):
            raise ValueError(
                f"citation of {self.passage_id!r} has the offsets [{self.start!r}, {self.end!r}); expected two whole "
                "numbers in order, or neither"
            )


@dataclass(frozen=True, slots=True)
class Sentence(Named):
    """A sentence of an answer with its citations."""

    text: str
    citations: tuple[Citation, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Sentence:
        citations = tuple(Citation.from_json(citation) for citation in data["citations"])
        return cls(data["text"], citations)


@dataclass(frozen=True, slots=True)
class Answer(Named):
    """The answer to a turn. Kind ``none`` has no sentences, a reason, and the ids of the ``nearest`` passages.

    ``score`` rates how well the passages answer the question, from 0 to 1 (it is not a probability); None if no
    decision was made. ``withheld`` is the first sentence of an answer that was refused. ``notes`` are
    counted in a run's summary, such as parts of a model's reply that were left out.
    """

    kind: AnswerKind
    text: str
    sentences: tuple[Sentence, ...] = ()
    label: str = ""
    reason: str = ""
    score: float | None = None
    nearest: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    withheld: Sentence | None = None

    @classmethod
    def of(cls, sentences: Sequence[Sentence], language: str, score: float | None = None) -> Answer:
        """Return an answer of these sentences, joined by a space (by nothing in :data:`UNSPACED` languages).

        >>> Answer.of([Sentence("Yes."), Sentence("It is.")], "en").text
        'Yes. It is.'
        """
        separator = "" if language in UNSPACED else " "
        text = separator.join(sentence.text for sentence in sentences)
        return cls("answer", text, tuple(sentences), score=score)

    def cited_ids(self) -> frozenset[str]:
        """Return the ids of all cited passages, also by the withheld sentence."""
        withheld = () if self.withheld is None else (self.withheld,)
        sentences = (*self.sentences, *withheld)
        return frozenset(citation.passage_id for sentence in sentences for citation in sentence.citations)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Answer:
        sentences = tuple(Sentence.from_json(sentence) for sentence in data["sentences"])
        nearest = tuple(data["nearest"])
        notes = tuple(data.get("notes", ()))
        withheld = data.get("withheld")
        return cls(
            **{
                **data,
                "sentences": sentences,
                "nearest": nearest,
                "notes": notes,
                "withheld": withheld and Sentence.from_json(withheld),
            }
        )
