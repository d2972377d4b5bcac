"""Citation recall and precision of ALCE (Gao, Yen, Yu and Chen, EMNLP 2023; princeton-nlp/ALCE@246c476, eval.py).

A sentence is recalled if what it cites, taken together, entails it. A citation is precise if its sentence is recalled
and it is needed there: it entails the sentence alone, or the others fail to without it. The script's entailment model
(T5-XXL, 11 billion parameters) is a parameter here: a function that says whether a premise entails a claim.

All else is the script's, its traps too, but for one thing. The script splits text into sentences by NLTK's Punkt, and
here it is ``convqa.text.sentences``: rules instead of a trained model, and a mark behind a full stop ("It is old. [1]")
stays with the sentence before it, where Punkt begins the next one with it. Give ``split`` another function, such as
``nltk.sent_tokenize``, for the very same sentences.

Tasks know sentences and citations, and call ``of_sentences``; ``of_text`` and ``means`` are for outputs of the script.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from convqa.text.sentences import sentences as boundaries

AT_MOST = 3
"""Citations of a sentence that count: its first ones."""

Entails = Callable[[str, str], bool]
"""Whether a premise entails a claim."""

_MARK = re.compile(r"\[(\d+)")
_MARK_WITH_BLANK = re.compile(r" ?\[\d+")


class CitationScores(NamedTuple):
    """Of one answer, each from 0 to 1. The script's numbers are the means over answers, times 100."""

    recall: float
    precision: float


class CitedSentence(NamedTuple):
    """A claim and the texts that it cites; None: a citation of it names nothing that is there."""

    claim: str
    cited: Sequence[str] | None


def of_text(
    output: str,
    documents: Sequence[str],
    entails: Entails,
    split: Callable[[str], Sequence[str]] | None = None,
    at_most: int = AT_MOST,
) -> CitationScores | None:
    """Scores of a text whose sentences cite documents as [1], counted from 1. None for a text without sentences.

    Only its first line counts. Of a mark only the digits right after the bracket are read, so "[2, 1]" is one of
    document 2, and ", 1" stays in the claim. [0] is the last document.

    :param documents: their texts, as ``document`` writes them.
    """
    line = output.strip().split("\n")[0].replace("<|im_end|>", "")
    said = (split or _sentences)(line)
    return of_sentences([CitedSentence(without_marks(one), _cited(one, documents)) for one in said], entails, at_most)


def of_sentences(sentences: Sequence[CitedSentence], entails: Entails, at_most: int = AT_MOST) -> CitationScores | None:
    """The same for sentences whose citations are known. None without sentences: such an answer is left out of means.

    A sentence that cites nothing, or something that is not there, is not recalled; its citations are not counted.

    >>> def said_in(premise, claim):
    ...     return set(claim.split()) <= set(premise.split())
    >>> cited = ["Rome is old", "Rome is in Italy"]
    >>> of_sentences([CitedSentence("Rome is old", cited), CitedSentence("Rome is big", ())], said_in)
    CitationScores(recall=0.5, precision=0.5)
    """
    if not sentences:
        return None
    counted = [(claim, cited[:at_most]) for claim, cited in sentences if cited]
    recalled = [(claim, cited) for claim, cited in counted if entails("\n".join(cited), claim)]
    precise = sum(_needed(claim, cited, entails) for claim, cited in recalled)
    citations = sum(len(cited) for _, cited in counted)
    return CitationScores(len(recalled) / len(sentences), precise / citations if citations else 0.0)


def means(answers: Iterable[CitationScores | None]) -> CitationScores | None:
    """What the script prints: the means over answers with sentences, times 100; None if there is no such answer.

    >>> means([CitationScores(1.0, 0.5), None])
    CitationScores(recall=100.0, precision=50.0)
    """
    found = [answer for answer in answers if answer is not None]
    if not found:
        return None
    recall, precision = (100 * sum(column) / len(found) for column in zip(*found, strict=True))
    return CitationScores(recall, precision)


def document(title: str, text: str) -> str:
    """A document as the entailment model sees it.

    >>> document("Rome", "A city.")
    'Title: Rome\\nA city.'
    """
    return f"Title: {title}\n{text}"


def without_marks(sentence: str) -> str:
    """A sentence without its citations, and without any "]" and " |", which go as well.

    >>> without_marks("Rome [1][2] is big [3, 1]. |")
    'Rome is big, 1.'
    """
    return _MARK_WITH_BLANK.sub("", sentence).replace(" |", "").replace("]", "").strip()


def _cited(sentence: str, documents: Sequence[str]) -> list[str] | None:
    """The documents that the marks of a sentence name; [0], number -1 to the script, is the last one."""
    numbers = [int(number) - 1 for number in _MARK.findall(sentence)]
    if numbers and (not documents or max(numbers) >= len(documents)):
        return None
    return [documents[number] for number in numbers]


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


def _sentences(line: str) -> list[str]:
    return [line[start:end] for start, end in boundaries(line)]
