"""The sentences of an answer in run.json, those without citations too, which Model_citations does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from convqa.metrics.alce import CitedSentence
from convqa.tasks.qrecc.run import Quote
from convqa.text.sentences import sentences


def cited_sentences(answer: str, quotes: Sequence[Quote]) -> list[CitedSentence]:
    """An answer cut at its cited sentences, which follow one another in it, each with the texts that it cites.

    What stands between them is split by ``convqa.text.sentences`` and cites nothing. A cited sentence that the answer
    does not have is taken as it is.

    >>> from convqa.metrics.citations import Cited
    >>> cited_sentences("I know. Goethe wrote it.", [Quote(Cited("p", 0, 6, "Goethe"), "Goethe wrote it.")])
    [CitedSentence(claim='I know.', cited=()), CitedSentence(claim='Goethe wrote it.', cited=('Goethe',))]
    """
    if not answer.strip():
        return []
    found: list[CitedSentence] = []
    end = 0
    for sentence, group in groupby(quotes, key=lambda quote: quote.sentence or ""):
        start = answer.find(sentence, end)
        if start >= 0:
            found += _uncited(answer[end:start])
            end = start + len(sentence)
        found.append(CitedSentence(sentence, tuple(quote.cited.text for quote in group)))
    return found + _uncited(answer[end:])


def _uncited(text: str) -> list[CitedSentence]:
    return [CitedSentence(text[start:end], ()) for start, end in sentences(text)]
