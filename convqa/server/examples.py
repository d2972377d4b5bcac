"""Example questions drawn from a collection, about things that a passage defines or dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from convqa.domain import UNSURE, Passage, Response
from convqa.text.sentences import sentences

_MAX_PASSAGES = 2_000
"""Passages to scan at the beginning of the collection."""

_MAX_PASSAGE_CHARS = 1000
_MAX_SENTENCES = 3
"""Sentences to scan in each passage."""

_MAX_TRIED = 16
"""Questions to try."""

_NAME = r"(?P<name>(?:[Tt]he )?[A-Z][\w'-]+(?: (?:(?:of|the|and|de|von) )?[A-Z][\w'-]+){0,4})(?: \([^()]{0,80}\))?,? "
_IS = re.compile(_NAME + r"(?P<verb>is|was|are|were) (?:an?|the|one of)\b")
_WHEN = re.compile(
    _NAME + r"(?P<verb>was) (?P<event>born|founded|established|published|built|released|invented)\b.{0,60}\d{4}"
)
_PERSON = re.compile(r"\b(?:He|She)\b")
_NO_NAME = re.compile(
    r"(?<!\S)(?:An?|He|I[fnt]?|My|One|Our|She|Since|That|Their|There|These|They|This|Those|We|What|When|While|Who|You)"
    r"(?!\S)"
)


def examples(passages: Iterator[Passage], ask: Callable[[str], Response] | None, count: int) -> list[str]:
    """Return up to ``count`` questions that the pipeline answers with confidence.

    :param ask: answers the first question of a conversation; None = do not try the questions.
    """
    scanned = list(islice(passages, _MAX_PASSAGES))
    # Names that a passage mentions once come last, because a small collection may have no others.
    candidates = dict.fromkeys([*_questions(scanned, 2), *_questions(scanned, 1)])
    # Prefers names of several words, which are rarely ambiguous, to those of one ("What is Faust?").
    preferred = sorted(candidates, key=lambda question: question.count(" ") < 3)
    if ask is None:
        return preferred[:count]
    confident = (question for question in preferred[:_MAX_TRIED] if _is_confident(ask(question)))
    return list(islice(confident, count))


def _is_confident(response: Response) -> bool:
    answer = response.answer
    return answer is not None and answer.kind == "answer" and UNSURE not in answer.notes


def _questions(passages: Iterable[Passage], times: int) -> Iterator[str]:
    """Yield English questions about the names that begin a sentence and occur ``times`` times in the passage.

    >>> list(_questions([Passage("p", "Ada Lovelace was born in 1815. Ada Lovelace wrote a program.")], 2))
    ['When was Ada Lovelace born?']
    >>> list(_questions([Passage("p", "Cancer is a disease. Every cancer is unlike others. Cancer was known.")], 2))
    ['What is cancer?']
    """
    for passage in passages:
        for start, end in sentences(passage.text[:_MAX_PASSAGE_CHARS], "en")[:_MAX_SENTENCES]:
            sentence = passage.text[start:end]
            match = _WHEN.match(sentence) or _IS.match(sentence)
            if match is None or _NO_NAME.search(match["name"]):
                continue
            name, verb = match["name"], match["verb"]
            if passage.text.count(name) < times and name.split()[-1] not in passage.title:
                continue
            name = re.sub("^The ", "the ", name)
            if re.search(rf"\b{name.lower()}\b", passage.text):
                name = name.lower()  # capitalized only because it begins the sentence
            if match.re is _WHEN:
                yield f"When {verb} {name} {match['event']}?"
            elif verb in {"is", "was"} and _PERSON.search(passage.text):
                yield f"Who {verb} {name}?"
            else:
                yield f"What {verb} {name}?"
