"""How good citations are: cited ids and quotes against gold ones, and whether a citation can be opened at its place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from convqa.metrics.squad import normalise


class PrecisionRecallF1(NamedTuple):
    """Each from 0 to 1."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, precision: float, recall: float) -> PrecisionRecallF1:
        """With their harmonic mean; 0 if both are 0."""
        both = precision + recall
        return cls(precision, recall, 2 * precision * recall / both if both else 0.0)


class Cited(NamedTuple):
    """A citation as a file has it: ``text`` is its quote, the whole passage where it has no offsets."""

    passage_id: str
    start: int | None
    end: int | None
    text: str


def set_scores(predicted: Collection[str], gold: Collection[str]) -> PrecisionRecallF1:
    """Of distinct members: the share of ``predicted`` that is gold, the share of ``gold`` that was predicted.

    Both empty: all 1, as nothing was wanted and nothing said. One of them empty: all 0.

    >>> set_scores({"a", "b"}, {"a", "c", "d"})
    PrecisionRecallF1(precision=0.5, recall=0.3333333333333333, f1=0.4)
    >>> set_scores([], [])
    PrecisionRecallF1(precision=1.0, recall=1.0, f1=1.0)
    """
    found, wanted = set(predicted), set(gold)
    if not found or not wanted:
        same = float(found == wanted)
        return PrecisionRecallF1(same, same, same)
    shared = len(found & wanted)
    return PrecisionRecallF1.of(shared / len(found), shared / len(wanted))


def quote_scores(quotes: Collection[str], gold: Collection[str]) -> PrecisionRecallF1:
    """Quotes against gold sentences, both of distinct texts, by their longest common runs of words (SQuAD's words).

    A gold sentence is found if one quote has a run of at least half of its words. A quote is right if at least half
    of its words lie in runs that it shares with gold sentences; a run counts from half of the shorter text on, so that
    common words alone decide nothing. The empty cases are those of ``set_scores``.

    >>> quote_scores(["It has a double coat , soft and long .", "Cats sleep a lot ."], ["It has a double coat ,"])
    PrecisionRecallF1(precision=0.5, recall=1.0, f1=0.6666666666666666)
    """
    said, wanted = (_worded(texts) for texts in (quotes, gold))
    if not said or not wanted:
        return set_scores([" ".join(words) for words in said], [" ".join(words) for words in wanted])
    runs = [[_run(quote, sentence) for sentence in wanted] for quote in said]
    right = sum(2 * sum(row) >= len(quote) for row, quote in zip(runs, said, strict=True))
    found = sum(2 * max(column) >= len(words) for column, words in zip(zip(*runs, strict=True), wanted, strict=True))
    return PrecisionRecallF1.of(right / len(said), found / len(wanted))


def validity(citations: Sequence[Cited], passages: Collection[str]) -> float:
    """The share of citations that can be opened; without citations 1: none is wrong.

    One can that names a passage of the turn, and whose quote is more than white space and as long as its offsets say.

    :param passages: the ids of what the turn retrieved.

    >>> validity([Cited("a", 4, 8, "Lane"), Cited("b", 0, 4, "Lois")], ["a"])
    0.5
    """
    return sum(_is_valid(citation, passages) for citation in citations) / len(citations) if citations else 1.0


def _is_valid(citation: Cited, passages: Collection[str]) -> bool:
    if citation.passage_id not in passages or not citation.text.strip():
        return False
    if citation.start is None or citation.end is None:
        return citation.start == citation.end
    return citation.start >= 0 and len(citation.text) == citation.end - citation.start


def _worded(texts: Collection[str]) -> list[list[str]]:
    words = (tuple(normalise(text).split()) for text in texts)
    return [list(text) for text in dict.fromkeys(words) if text]


def _run(quote: Sequence[str], sentence: Sequence[str]) -> int:
    """Words of the longest common run; 0 if it is shorter than half of the shorter text."""
    run = SequenceMatcher(None, quote, sentence, autojunk=False).find_longest_match().size
    return run if 2 * run >= min(len(quote), len(sentence)) else 0
