"""An utterance as the files have it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from convqa.validation import Record

Form = Literal["official", "open"]
"""ShARC's own files, where each utterance brings its rule text; or the open-retrieval ones, where it is to be found."""

FIELDS = "utterance_id, tree_id, source_url, question, scenario, history"
WANTED = (
    f"a JSON array of utterances ({FIELDS}, snippet), or JSON lines of them without snippet (the open-retrieval form)"
)
ADVICE = "Correct the file, or take it as it was published."


def _not_blank(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "Wanted: text")
    return text


def _yes_or_no(text: str) -> str:
    if text.lower() not in {"yes", "no"}:
        raise PydanticCustomError("yes_or_no", "Wanted: Yes or No")
    return text


Text = Annotated[str, AfterValidator(_not_blank)]


class FollowUp(Record):
    """A question that was asked back, and what the user said to it."""

    follow_up_question: Text
    follow_up_answer: Annotated[Text, AfterValidator(_yes_or_no)]


class Utterance(Record):
    """An utterance of either form. ``answer`` and what follows is truth: input may lack it.

    Only training reads ``evidence``.
    """

    utterance_id: Text
    tree_id: Text
    source_url: str
    question: Text
    scenario: str
    history: list[FollowUp]
    answer: Text | None = None
    evidence: list[Any] = []


class Official(Utterance):
    """ShARC's own form: the rule text comes along."""

    snippet: Text


class Open(Utterance):
    """The open-retrieval form. ``snippet_seen``: whether the training data has utterances about this rule text."""

    gold_snippet_id: str | None = None
    snippet_seen: bool | None = None


SHAPES: dict[Form, type[Official] | type[Open]] = {"official": Official, "open": Open}
