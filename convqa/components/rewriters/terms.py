"""Adds the words of the history that the question needs, chosen by a trained model, as weighted query terms."""

from __future__ import annotations

from collections.abc import Sequence

from convqa.components.members import member
from convqa.components.rewriters._resolver import Probability, Resolving
from convqa.models import Resolution


@member
class Terms(Resolving):
    """Add the history's words to the question, each with ``weight`` x the probability that the question needs it.

    After QuReTeC (Voskarides et al., "Query Resolution for Conversational Search with Limited Supervision", SIGIR
    2020), whose terms are added unweighted. The text is the question followed by the likely terms.

    :param likely: minimum probability of a term in the text.
    """

    likely: Probability = 0.5

    def _text(self, question: str, resolution: Resolution, terms: Sequence[tuple[str, float]]) -> str:
        return " ".join([question.rstrip(), *(term for term, probability in terms if probability >= self.likely)])
