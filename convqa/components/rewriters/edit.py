"""Completes the question with phrases of the history that a trained model selects."""

from __future__ import annotations

import re
from collections.abc import Sequence

from convqa.components.members import member
from convqa.components.rewriters._resolver import Probability, Resolving
from convqa.models import Resolution

_NAMES = re.compile(r"(?:\w+,? )?(?i:what|how) about (?:the |an? )?[A-Z]")
"""The question names what it is about, and a phrase more would stand beside that name."""


@member
class Edit(Resolving):
    """Write the self-contained question by pointing: for each place of the question a phrase of the history, or none.

    A tag-and-point model (after Jin et al., "Hierarchical Context Tagging for Utterance Rewriting", AAAI 2022): of
    its own it says only the words of the model's patterns (besides, other than, his, did ...). What is searched is the
    question with weighted terms, as by ``terms``. "What about NAME?" stays as it is.

    :param sure: probability from which on an edit is made.
    """

    sure: Probability = 0.2

    def _text(self, question: str, resolution: Resolution, terms: Sequence[tuple[str, float]]) -> str:
        return question if _NAMES.match(question) else resolution.text(self.sure)
