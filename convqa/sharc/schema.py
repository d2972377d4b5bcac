"""The records of ShARC's files, and answers as the evaluators normalize them: spaCy's English tokens and a class."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from convqa.errors import InputError
from convqa.tasks.records import RecordFile
from convqa.validation import Record

Form = Literal["official", "open"]
"""ShARC's own files, with the rule text in each utterance, or the open-retrieval ones, where it must be retrieved."""

FIELDS = "utterance_id, tree_id, source_url, question, scenario, history"
EXPECTED = (
    f"a JSON array of utterances ({FIELDS}, snippet), or JSON lines of them without snippet (the open-retrieval form)"
)
ADVICE = "Correct the file, or use the published one."


def _yes_or_no(text: str) -> str:
    if text.lower() not in {"yes", "no"}:
        raise PydanticCustomError("yes_or_no", "expected Yes or No")
    return text


Text = Annotated[str, Field(pattern=r"\S")]


class FollowUp(Record):
    """A follow-up question and the user's reply."""

    follow_up_question: Text
    follow_up_answer: Annotated[Text, AfterValidator(_yes_or_no)]


class Utterance(Record):
    """An utterance of either form. Input may lack ``answer`` and ``evidence``, which only training reads."""

    utterance_id: Text
    tree_id: Text
    source_url: str
    question: Text
    scenario: str
    history: list[FollowUp]
    answer: Text | None = None
    evidence: list[Any] = []


class Official(Utterance):
    """ShARC's own form, with the rule text."""

    snippet: Text


class Open(Utterance):
    """The open-retrieval form. ``snippet_seen``: whether the rule text occurs in the training data."""

    gold_snippet_id: str | None = None
    snippet_seen: bool | None = None


UTTERANCES: dict[Form, RecordFile[Any]] = {
    "official": RecordFile(Official, "utterance", "utterance_id", EXPECTED, ADVICE),
    "open": RecordFile(Open, "utterance", "utterance_id", EXPECTED, ADVICE),
}

CLASSES: dict[Form, tuple[str, ...]] = {
    "official": ("yes", "no", "more", "irrelevant"),
    "open": ("yes", "no", "more"),
}
"""In the order of the official scripts; ``more`` is the class of follow-up questions and everything else."""


class NormalizedAnswer(NamedTuple):
    """An answer with its class. ``asks``: counts as a follow-up question (the word "more" alone does not)."""

    words: tuple[str, ...]
    label: str
    asks: bool

    @property
    def text(self) -> str:
        return " ".join(self.words)


def normalize(answer: str, form: Form) -> NormalizedAnswer:
    """Normalize an answer for comparison.

    >>> normalize(" YES", "official").label, normalize("Yes.", "official").label, normalize("Irrelevant", "open").label
    ('yes', 'more', 'more')
    """
    words = tuple(token.text.lower() for token in _tokenizer()(answer) if not token.is_space)
    text = " ".join(words)
    classes = CLASSES[form]
    return NormalizedAnswer(words, text if text in classes else "more", text not in classes)


@cache
def _tokenizer() -> Any:
    """Return spaCy's English tokenizer, which the official scripts use.

    :raises InputError: if the extra ``sharc`` is not installed.
    """
    try:
        import spacy
    except ImportError as error:
        raise InputError("scores of ShARC need spaCy. Install the extra sharc: pip install 'convqa[sharc]'") from error
    return spacy.blank("en").tokenizer
