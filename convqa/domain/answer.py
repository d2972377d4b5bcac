"""Readings and answers, with their citations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from convqa.domain.conversation import Listed, Named

AnswerKind = Literal["answer", "question", "none", "talk"]

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
    """A sentence of an answer, or a whole table in Markdown, with its citations.

    ``supported``: whether the passages support what a language model said; None = not checked, as for quotes.
    ``reason``: what the passages say instead, or why it was not checked.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    supported: bool | None = None
    reason: str = ""

    @property
    def mark(self) -> str:
        """The words that mark a sentence without support, the same everywhere; "" for any other.

        >>> Sentence("It costs 9 euros.", supported=False, reason="the passages say 8").mark
        'not found in the passages: the passages say 8'
        """
        state = "not found in the passages" if self.supported is False else "not checked"
        if self.supported is False or self.reason:
            return f"{state}: {self.reason}" if self.reason else state
        return ""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Sentence:
        citations = tuple(Citation.from_json(citation) for citation in data["citations"])
        return cls(**{**data, "citations": citations})


@dataclass(frozen=True, slots=True)
class Answer(Named):
    """The answer to a turn.

    Kind ``none`` has no text, a reason, and the ids of the ``nearest`` passages. Its sentences are a language model's
    own words for finding nothing. Kind ``talk`` has no text, and sentences that reply to what needs no passages.

    ``score`` rates how well the passages answer the question, from 0 to 1 (it is not a probability); None if no
    decision was made. ``withheld`` is the first sentence of an answer that was refused. ``notes`` are counted in a
    run's summary, such as parts of a model's reply that were left out. ``usage``: tokens of the prompt and of the
    completion, as a language model's server reports them.
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
    usage: tuple[int, ...] = field(default=(), compare=False)

    @classmethod
    def of(
        cls,
        sentences: Sequence[Sentence],
        language: str,
        score: float | None = None,
    ) -> Answer:
        """Return an answer of these sentences, joined by a space (by nothing in :data:`UNSPACED` languages).

        >>> Answer.of([Sentence("Yes."), Sentence("It is.")], "en").text
        'Yes. It is.'
        """
        return cls("answer", joined(sentences, "" if language in UNSPACED else " "), tuple(sentences), score=score)

    @property
    def shown(self) -> str:
        """The text, or that of the sentences of kinds without one."""
        return self.text or joined(self.sentences, " ")

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
        values = {
            "sentences": sentences,
            "nearest": nearest,
            "notes": notes,
            "withheld": withheld and Sentence.from_json(withheld),
            "usage": tuple(data.get("usage", ())),
        }
        return cls(**{**data, **values})


def joined(sentences: Sequence[Sentence], separator: str) -> str:
    """Return the text of sentences. Tables are joined to what surrounds them by line breaks.

    >>> joined([Sentence("Prices:"), Sentence("| a | b |\\n| --- | --- |"), Sentence("Cash only.")], " ")
    'Prices:\\n| a | b |\\n| --- | --- |\\nCash only.'
    """
    text = ""
    is_after_table = False
    for sentence in sentences:
        is_table = "\n" in sentence.text
        if text:
            text += "\n" if is_table or is_after_table else separator
        text += sentence.text
        is_after_table = is_table
    return text
