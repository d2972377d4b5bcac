"""Completes the question with phrases of the history that a trained model selects."""

from __future__ import annotations

import re
from collections.abc import Sequence

from convqa.components.members import member
from convqa.components.rewriters._resolver import Probability, Resolving
from convqa.models import Resolution

_NAMES = re.compile(r"(?:\w+,? )?(?i:what|how) about (?:the |an? )?[A-Z]")
"""The question names its subject, so that no phrase of the history is missing."""


@member
class Edit(Resolving):
    """Write the self-contained question by inserting phrases of the history.

    A tag-and-point model (after Jin et al., "Hierarchical Context Tagging for Utterance Rewriting", AAAI 2022) chooses
    a phrase, or none, for each position. Its own words come only from its patterns (besides, other than, his, did ...).
    The query is the question with weighted terms, as in ``terms``. "What about NAME?" is left unchanged.

    :param sure: minimum probability of an edit.
    """

    sure: Probability = 0.2

    def _text(self, question: str, resolution: Resolution, terms: Sequence[tuple[str, float]]) -> str:
        return question if _NAMES.match(question) else resolution.text(self.sure)
