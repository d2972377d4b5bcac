"""Citation recall and precision of ALCE (Gao, Yen, Yu and Chen, EMNLP 2023; princeton-nlp/ALCE@246c476, eval.py).

A sentence is recalled if its citations together entail it. A citation is precise if its sentence is recalled and it is
needed: it entails the sentence alone, or the other citations do not. The script's entailment model (T5-XXL, 11 billion
parameters) is a parameter here.

Everything else, including its traps, is as in the script, except that sentences and citations are given: the script
finds them in a text with NLTK's Punkt and by marks such as [1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

MAX_CITATIONS = 3
"""Maximum number of citations per sentence that count."""

Entails = Callable[[str, str], bool]
"""Whether a premise entails a claim."""


class CitationScores(NamedTuple):
    """The scores of one answer, from 0 to 1. The script reports means over answers, times 100."""

    recall: float
    precision: float


class CitedSentence(NamedTuple):
    """A claim and the texts that it cites; None if a citation is unknown."""

    claim: str
    cited: Sequence[str] | None


def citation_scores(
    sentences: Sequence[CitedSentence],
    entails: Entails,
) -> CitationScores | None:
    """Score an answer's sentences; None without sentences, since the script leaves such answers out of the means.

    A sentence without citations, or with an unknown one, is not recalled, and its citations are not counted.

    >>> def contains(premise, claim):
    ...     return set(claim.split()) <= set(premise.split())
    >>> cited = ["Rome is old", "Rome is in Italy"]
    >>> citation_scores([CitedSentence("Rome is old", cited), CitedSentence("Rome is big", ())], contains)
    CitationScores(recall=0.5, precision=0.5)
    """
    if not sentences:
        return None
    recalled = precise = citations = 0
    for claim, cited in sentences:
        counted = (cited or ())[:MAX_CITATIONS]
        citations += len(counted)
        if counted and entails("\n".join(counted), claim):
            recalled += 1
            precise += _needed(claim, counted, entails)
    precision = precise / citations if citations else 0.0
    return CitationScores(recalled / len(sentences), precision)


def document(title: str, text: str) -> str:
    """Format a document as input of the entailment model.

    >>> document("Rome", "A city.")
    'Title: Rome\\nA city.'
    """
    return f"Title: {title}\n{text}"


def _needed(
    claim: str,
    cited: Sequence[str],
    entails: Entails,
) -> int:
    """Count the needed citations of a recalled sentence. A text that is cited twice is left out once."""
    if len(cited) == 1:
        return 1
    needed = 0
    for text in cited:
        others = list(cited)
        others.remove(text)
        needed += entails(text, claim) or not entails("\n".join(others), claim)
    return needed
