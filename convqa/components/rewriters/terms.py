"""Adds the words of the history that the question needs, chosen by a trained model, as weighted query terms."""

from __future__ import annotations

from collections.abc import Sequence

from convqa.components.members import member
from convqa.components.rewriters._resolver import Resolving
from convqa.models import Resolution

_LIKELY = 0.5
"""Minimum probability of a term in the text."""


@member
class Terms(Resolving):
    """Add the history's words to the question, each with ``weight`` x the probability that the question needs it.

    After QuReTeC (Voskarides et al., "Query Resolution for Conversational Search with Limited Supervision", SIGIR
    2020), whose terms are added unweighted. The text is the question followed by the likely terms.
    """

    def _text(self, question: str, resolution: Resolution, terms: Sequence[tuple[str, float]]) -> str:
        return " ".join([question.rstrip(), *(term for term, probability in terms if probability >= _LIKELY)])
