"""Questions to begin with, drawn from a collection: of what its passages say what it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from convqa.domain import UNSURE, Passage, Response

_LOOKED_AT = 2_000
"""Passages, from the collection's beginning."""

_ASKED = 12
"""Questions that are tried."""

_SAYS = re.compile(
    r"(?P<name>(?:The )?[A-Z][\w'-]+(?: (?:of |the |and |de |von )?[A-Z][\w'-]+){0,4})(?: \([^()]{0,80}\))?,? "
    r"(?P<verb>is|was|are|were) (?:an?|the|one of)\b"
)
_PERSON = re.compile(r"\b(?:[Hh]e|[Ss]he|[Hh]is|[Hh]er)\b")
_NO_NAMES = frozenset({"It", "He", "She", "They", "This", "That", "There", "These", "Those", "What", "Who", "In", "We"})


def examples(passages: Iterator[Passage], ask: Callable[[str], Response] | None, wanted: int) -> list[str]:
    """At most so many questions that the pipeline answers without doubt.

    :param ask: answers a question as the first of a conversation; None = they are not tried.
    """
    found: list[str] = []
    if ask is None:
        return list(islice(dict.fromkeys(_questions(islice(passages, _LOOKED_AT))), wanted))
    for question in islice(dict.fromkeys(_questions(islice(passages, _LOOKED_AT))), _ASKED):
        answer = ask(question).answer
        if answer is not None and answer.kind == "answer" and UNSURE not in answer.notes:
            found.append(question)
        if len(found) == wanted:
            break
    return found


def _questions(passages: Iterator[Passage]) -> Iterator[str]:
    """English questions of what the first sentence of a passage is about.

    >>> list(_questions(iter([Passage("p", "Ada Lovelace (1815-1852) was an English writer. She wrote a program.")])))
    ['Who was Ada Lovelace?']
    """
    for passage in passages:
        says = _SAYS.match(passage.text)
        if says and says["name"].split()[0] not in _NO_NAMES:
            name = says["name"][:1].lower() + says["name"][1:] if says["name"].startswith("The ") else says["name"]
            asked = "Who" if _PERSON.search(passage.text) and says["verb"] in {"is", "was"} else "What"
            yield f"{asked} {says['verb']} {name}?"
