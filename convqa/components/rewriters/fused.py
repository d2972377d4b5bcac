"""Several rewriters on one turn: their queries are searched side by side, and the question with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from convqa.components.base import Rewriter
from convqa.components.members import describe, make, member
from convqa.domain import Query, Rewrite, Turn
from convqa.errors import InputError
from convqa.text.dialogue import open_question


@member
class Fused(Rewriter):
    """Search what several rewriters make of a turn; the retriever fuses their rankings by reciprocal rank.

    The question itself is among the queries, so that a rewriter that goes astray cannot lose what the user said. A
    query that several make is searched once, with the sum of their weights. The text is the first rewriter's.

    :param rewriters: one or more: names, or ``{type: ..., init_parameters: {...}}``.
    :param weights: what each one's queries count, in the same order; None = 1 each.
    :param question: what the question counts as a query of its own; 0 leaves it out.
    """

    rewriters: Annotated[list[Any], Field(min_length=1)]
    weights: list[Annotated[float, Field(gt=0, le=10)]] | None = None
    question: Annotated[float, Field(ge=0, le=10)] = 1.0

    def __post_init__(self) -> None:
        self.inner = self._rewriters = [
            make(value, f"rewriters[{place}]", Rewriter) for place, value in enumerate(self.rewriters)
        ]
        self.rewriters = [describe(rewriter) for rewriter in self.inner]
        if self.weights is not None and len(self.weights) != len(self.rewriters):
            raise InputError(
                f"weights: found {len(self.weights)}; wanted: one for each of the {len(self.rewriters)} rewriters."
            )

    def identity(self) -> Mapping[str, str]:
        return {
            f"{place}.{name}": checksum
            for place, rewriter in enumerate(self.inner)
            for name, checksum in rewriter.identity().items()
        }

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        later = [turn for turn in turns if turn.history]
        parts = zip(*(rewriter.rewrite_batch(later) for rewriter in self._rewriters), strict=True)
        return [
            self._together(open_question(turn), next(parts)) if turn.history else Rewrite.unchanged(open_question(turn))
            for turn in turns
        ]

    def _together(self, question: str, parts: Sequence[Rewrite]) -> Rewrite:
        weights = self.weights or [1.0] * len(parts)
        weighted = [(Query(question), self.question)] if self.question else []
        weighted += [(query, weight) for part, weight in zip(parts, weights, strict=True) for query in part.queries]
        counts: dict[tuple[str, tuple[tuple[str, float], ...]], float] = {}
        for query, weight in weighted:
            same = (query.text, query.terms)
            counts[same] = counts.get(same, 0.0) + weight * query.weight
        # The weight of a query that stands alone says nothing.
        alone = len(counts) == 1
        queries = tuple(Query(*same, 1.0 if alone else weight) for same, weight in counts.items())
        return Rewrite(parts[0].text, queries, tuple(note for part in parts for note in part.notes))
