"""The reader of the shared task's simple baseline: the sentence with most noun phrases of the question.

Source: SCAI-QReCC-21, code/simple-baseline (2021-05-14). Sentences and noun phrases are TextBlob's. Its corpora must be
installed; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from convqa.components.base import Reader
from convqa.components.members import member
from convqa.components.parameters import Count
from convqa.domain import Passage, Ranking, Reading, Rewrite, Span, Turn
from convqa.errors import InputError

_MAX_SPANS = 20
_CORPORA = ("tokenizers/punkt_tab", "corpora/brown")


class SentencePhrases(NamedTuple):
    """A sentence with its stemmed noun phrases, including repetitions."""

    start: int
    end: int
    text: str
    phrases: tuple[str, ...]


@member
class NounPhrases(Reader):
    """Rank full sentences by how many of their noun phrases the question has. English only.

    A full sentence ends with a full stop. Ties keep their order, so that without a common phrase the first full
    sentence of the best passage wins. The null score is 0.

    Example::

        reader: {type: noun_phrases, init_parameters: {max_passages: 100}}

    :param max_passages: how many of the top passages are read, except those without text.
    """

    max_passages: Count = 100

    def warm_up(self) -> None:
        """:raises InputError: if TextBlob or its corpora are missing."""
        _textblob()

    def read(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
    ) -> Reading:
        if turn.language != "en":
            raise InputError(f"noun phrases: expected English, got language {turn.language!r}. Use another reader.")
        phrases = {stem(phrase) for phrase in _textblob()(rewrite.text).noun_phrases}
        return read(phrases, [(passage, _sentences(passage.text)) for passage in ranking.passages(self.max_passages)])


def read(question: Collection[str], passages: Iterable[tuple[Passage, Sequence[SentencePhrases]]]) -> Reading:
    """Rank full sentences by the number of their phrases in the question, then by their order.

    >>> passage = Passage("p", "Rome is old. Rome fell.")
    >>> one, two = SentencePhrases(0, 12, "Rome is old.", ()), SentencePhrases(13, 23, "Rome fell.", ("rome",))
    >>> read(["rome"], [(passage, [one, two])]).spans[0].text
    'Rome fell.'
    """
    spans = []
    for passage, sentences in passages:
        for sentence in sentences:
            if sentence.text.endswith("."):
                shared = sum(phrase in question for phrase in sentence.phrases)
                spans.append(
                    Span(
                        passage.id,
                        sentence.start,
                        sentence.end,
                        sentence.text,
                        float(shared),
                    )
                )
    spans.sort(key=lambda span: -span.score)
    return Reading(tuple(spans[:_MAX_SPANS]), 0.0)


def stem(phrase: str) -> str:
    """Stem a phrase with NLTK's Porter stemmer as if it were one word, which only changes its last word.

    >>> stem("average starting salaries")  # doctest: +SKIP
    'average starting salari'
    """
    from nltk.stem import PorterStemmer

    return str(PorterStemmer().stem(phrase))


@lru_cache(4096)
def _sentences(text: str) -> tuple[SentencePhrases, ...]:
    # TextBlob's own offsets are wrong after more than one white space character between sentences.
    result = []
    start = 0
    for sentence in _textblob()(text).sentences:
        raw = str(sentence.raw)
        start = text.index(raw, start)
        # Noun phrases are slow, and only full sentences need them.
        phrases = tuple(stem(phrase) for phrase in sentence.noun_phrases) if raw.endswith(".") else ()
        result.append(
            SentencePhrases(
                start,
                start + len(raw),
                raw,
                phrases,
            )
        )
        start += len(raw)
    return tuple(result)


@cache
def _textblob() -> Any:
    """:raises InputError: if TextBlob, or a corpus of it, is missing."""
    if find_spec("textblob") is None:
        raise InputError("noun phrases need the package textblob: pip install 'convqa[baseline]'.")
    import nltk
    from textblob import TextBlob

    for corpus in _CORPORA:
        try:
            nltk.data.find(corpus)
        except LookupError:
            raise InputError(
                f"noun phrases need NLTK's {corpus}, which is missing in {', '.join(nltk.data.path)}. Download the "
                "corpora: python -m textblob.download_corpora lite; or set NLTK_DATA to a folder that has them."
            ) from None
    return TextBlob
