"""Example questions drawn from a collection, about things that a passage defines or dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from convqa.domain import UNSURE, Passage, Response
from convqa.text.sentences import sentences

_PASSAGES = 2_000
"""Passages to scan at the beginning of the collection."""

_SENTENCES = 3
"""Sentences to scan in each passage."""

_TIMES = 2
"""Minimum mentions of a name in a passage whose title lacks it."""

_TRIED = 16
"""Maximum questions to try."""

_FEW = 3
"""Spaces below which the name in a question is a single word."""

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


def examples(passages: Iterator[Passage], ask: Callable[[str], Response] | None, count: int) -> list[str]:
    """Return up to ``count`` questions that the pipeline answers with confidence.

    :param ask: answers the first question of a conversation; None = do not try the questions.
    """
    scanned = list(islice(passages, _PASSAGES))
    # Names that a passage mentions once come last, because a small collection may have no others.
    candidates = dict.fromkeys(question for times in (_TIMES, 1) for question in _questions(scanned, times))
    # Prefers names of several words, which are rarely ambiguous.
    tried = sorted(candidates, key=lambda question: question.count(" ") < _FEW)[: _TRIED if ask else count]
    return list(islice((question for question in tried if ask is None or _is_confident(ask(question))), count))


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
        for start, end in sentences(passage.text[:1000], "en")[:_SENTENCES]:
            sentence = passage.text[start:end]
            match = _WHEN.match(sentence) or _IS.match(sentence)
            if match is None or _NO_NAME.search(match["name"]):
                continue
            if passage.text.count(match["name"]) < times and match["name"].split()[-1] not in passage.title:
                continue
            name, verb = re.sub("^The ", "the ", match["name"]), match["verb"]
            if re.search(rf"\b{name.lower()}\b", passage.text):
                name = name.lower()  # capitalised only because it begins the sentence
            if made := match.groupdict().get("made"):
                yield f"When {verb} {name} {made}?"
            else:
                is_person = _PERSON.search(passage.text) and verb in {"is", "was"}
                yield f"{'Who' if is_person else 'What'} {verb} {name}?"
