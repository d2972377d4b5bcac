"""Citation recall and precision of ALCE (Gao, Yen, Yu and Chen, EMNLP 2023; princeton-nlp/ALCE@246c476, eval.py).

A sentence is recalled if what it cites, taken together, entails it. A citation is precise if its sentence is recalled
and it is needed there: it entails the sentence alone, or the others fail to without it. The script's entailment model
(T5-XXL, 11 billion parameters) is a parameter here: a function that says whether a premise entails a claim.

All else is the script's, its traps too, but that the sentences and their citations are given: the script finds them in
a text, by NLTK's Punkt and by marks such as [1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

AT_MOST = 3
"""Citations of a sentence that count: its first ones."""

Entails = Callable[[str, str], bool]
"""Whether a premise entails a claim."""


class CitationScores(NamedTuple):
    """Of one answer, each from 0 to 1. The script's numbers are the means over answers, times 100."""

    recall: float
    precision: float


class CitedSentence(NamedTuple):
    """A claim and the texts that it cites; None: a citation of it names nothing that is there."""

    claim: str
    cited: Sequence[str] | None


def of_sentences(sentences: Sequence[CitedSentence], entails: Entails) -> CitationScores | None:
    """Scores of an answer's sentences. None without sentences: such an answer is left out of means.

    A sentence that cites nothing, or something that is not there, is not recalled; its citations are not counted.

    >>> def said_in(premise, claim):
    ...     return set(claim.split()) <= set(premise.split())
    >>> cited = ["Rome is old", "Rome is in Italy"]
    >>> of_sentences([CitedSentence("Rome is old", cited), CitedSentence("Rome is big", ())], said_in)
    CitationScores(recall=0.5, precision=0.5)
    """
    if not sentences:
        return None
    counted = [(claim, cited[:AT_MOST]) for claim, cited in sentences if cited]
    recalled = [(claim, cited) for claim, cited in counted if entails("\n".join(cited), claim)]
    precise = sum(_needed(claim, cited, entails) for claim, cited in recalled)
    citations = sum(len(cited) for _, cited in counted)
    return CitationScores(len(recalled) / len(sentences), precise / citations if citations else 0.0)


def document(title: str, text: str) -> str:
    """A document as the entailment model sees it.

    >>> document("Rome", "A city.")
    'Title: Rome\\nA city.'
    """
    return f"Title: {title}\n{text}"


def _needed(claim: str, cited: Sequence[str], entails: Entails) -> int:
    """How many citations of a recalled sentence are needed. A text that is cited twice is left out once."""
    if len(cited) == 1:
        return 1
    needed = 0
    for text in cited:
        others = list(cited)
        others.remove(text)
        needed += entails(text, claim) or not entails("\n".join(others), claim)
    return needed
