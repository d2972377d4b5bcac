"""How the evaluators see an answer: spaCy's English tokens in lower case, and a class. Whatever is no label asks."""

from __future__ import annotations

from typing import NamedTuple

from convqa.metrics.spacy_english import spacy_english
from convqa.tasks.sharc.schema import Form

CLASSES: dict[Form, tuple[str, ...]] = {"official": ("yes", "no", "more", "irrelevant"), "open": ("yes", "no", "more")}
"""In the order of the official scripts; ``more`` is that of follow-up questions."""


class Scored(NamedTuple):
    """``label``: its class. ``asks``: it counts as a follow-up question (the word "more" alone does not)."""

    words: tuple[str, ...]
    label: str
    asks: bool

    @property
    def text(self) -> str:
        return " ".join(self.words)


def said(answer: str, form: Form) -> Scored:
    """An answer as it is compared.

    >>> said(" YES", "official").label, said("Yes.", "official").label, said("Irrelevant", "open").label
    ('yes', 'more', 'more')
    """
    words = tuple(token.lower() for token in spacy_english(answer))
    text = " ".join(words)
    classes = CLASSES[form]
    return Scored(words, text if text in classes else "more", text not in classes)
