"""Answers as the evaluators normalise them: spaCy's English tokens in lower case, and a class."""

from __future__ import annotations

from typing import NamedTuple

from convqa.metrics.spacy_english import spacy_english
from convqa.tasks.sharc.schema import Form

CLASSES: dict[Form, tuple[str, ...]] = {"official": ("yes", "no", "more", "irrelevant"), "open": ("yes", "no", "more")}
"""In the order of the official scripts; ``more`` is the class of follow-up questions and everything else."""


class NormalisedAnswer(NamedTuple):
    """An answer with its class. ``asks``: counts as a follow-up question (the word "more" alone does not)."""

    words: tuple[str, ...]
    label: str
    asks: bool

    @property
    def text(self) -> str:
        return " ".join(self.words)


def normalise(answer: str, form: Form) -> NormalisedAnswer:
    """Normalise an answer for comparison.

    >>> normalise(" YES", "official").label, normalise("Yes.", "official").label, normalise("Irrelevant", "open").label
    ('yes', 'more', 'more')
    """
    words = tuple(token.lower() for token in spacy_english(answer))
    text = " ".join(words)
    classes = CLASSES[form]
    return NormalisedAnswer(words, text if text in classes else "more", text not in classes)
