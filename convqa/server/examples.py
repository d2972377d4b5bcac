"""Questions to begin with, drawn from a collection: of what its passages say what it is, or when it was made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from convqa.domain import UNSURE, Passage, Response
from convqa.text.sentences import sentences

_LOOKED_AT = 2_000
"""Passages, from the collection's beginning."""

_FIRST = 3
"""Sentences of each."""

_TIMES = 2
"""How often a passage must speak of a name, unless its title does."""

_ASKED = 16
"""Questions that are tried."""

_FEW = 3
"""Blanks below which the name in a question is of one word."""

_NAME = r"(?P<name>(?:[Tt]he )?[A-Z][\w'-]+(?: (?:(?:of|the|and|de|von) )?[A-Z][\w'-]+){0,4})(?: \([^()]{0,80}\))?,? "
_IS = re.compile(_NAME + r"(?P<verb>is|was|are|were) (?:an?|the|one of)\b")
_WHEN = re.compile(
    _NAME + r"(?P<verb>was) (?P<made>born|founded|established|published|built|released|invented)\b.{0,60}\d{4}"
)
_PERSON = re.compile(r"\b(?:He|She)\b")
_NO_NAME = re.compile(
    r"(?<!\S)(?:An?|He|I[fnt]?|My|One|Our|She|Since|That|Their|There|These|They|This|Those|We|What|When|While|Who|You)"
    r"(?!\S)"
)


def examples(passages: Iterator[Passage], ask: Callable[[str], Response] | None, wanted: int) -> list[str]:
    """At most so many questions that the pipeline answers without doubt.

    :param ask: answers a question as the first of a conversation; None = they are not tried.
    """
    looked_at = list(islice(passages, _LOOKED_AT))
    # Those that a passage speaks of in passing come last: a small collection may have no others.
    drawn = dict.fromkeys(question for times in (_TIMES, 1) for question in _questions(looked_at, times))
    # A name of several words is rarely another thing too.
    tried = sorted(drawn, key=lambda question: question.count(" ") < _FEW)[: _ASKED if ask else wanted]
    return list(islice((question for question in tried if ask is None or _is_sure(ask(question))), wanted))


def _is_sure(response: Response) -> bool:
    answer = response.answer
    return answer is not None and answer.kind == "answer" and UNSURE not in answer.notes


def _questions(passages: Iterable[Passage], times: int) -> Iterator[str]:
    """English questions of what a sentence says at its beginning, and the passage speaks of as often.

    >>> list(_questions([Passage("p", "Ada Lovelace was born in 1815. Ada Lovelace wrote a program.")], 2))
    ['When was Ada Lovelace born?']
    """
    for passage in passages:
        for start, end in sentences(passage.text[:1000], "en")[:_FIRST]:
            sentence = passage.text[start:end]
            says = _WHEN.match(sentence) or _IS.match(sentence)
            if says is None or _NO_NAME.search(says["name"]):
                continue
            if passage.text.count(says["name"]) < times and says["name"].split()[-1] not in passage.title:
                continue
            name = re.sub("^The ", "the ", says["name"])
            made = says.groupdict().get("made")
            asked = (
                "When" if made else "Who" if _PERSON.search(passage.text) and says["verb"] in {"is", "was"} else "What"
            )
            yield f"{asked} {says['verb']} {name}{f' {made}' if made else ''}?"
