"""The answer rule of the shared task's simple baseline: the sentence that shares most noun phrases with the question.

Source: SCAI-QReCC-21, code/simple-baseline (2021-05-14). Sentences and noun phrases are TextBlob's, whose corpora have
to be there: nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from convqa.components.base import Reader
from convqa.components.members import member
from convqa.domain import Passage, Ranking, Reading, Rewrite, Span, Turn
from convqa.errors import InputError
from convqa.text.cache import remembered

_MOST_SPANS = 20
_CORPORA = ("tokenizers/punkt_tab", "corpora/brown")


class Phrased(NamedTuple):
    """A sentence with its stemmed noun phrases, repeated as often as they occur."""

    start: int
    end: int
    text: str
    phrases: tuple[str, ...]


@member
class NounPhrases(Reader):
    """Full sentences, by how many of their noun phrases the question has.

    A sentence is full if it ends with a full stop; the first of the best wins, so that where nothing is shared it is
    the first full sentence of the best passage that has one. The null score is 0. English only.

    :param passages: how many of the top passages are read; those without their text are passed over.
    """

    passages: Annotated[int, Field(ge=1)] = 100

    def warm_up(self) -> None:
        """:raises InputError: if TextBlob or its corpora are missing."""
        _textblob()

    def read(self, turn: Turn, rewrite: Rewrite, ranking: Ranking) -> Reading:
        if turn.language != "en":
            raise InputError(f"noun phrases are English only; found language {turn.language!r}. Use another reader.")
        found = [hit.passage for hit in ranking.hits[: self.passages] if hit.passage is not None]
        asked = {stem(phrase) for phrase in _textblob()(rewrite.text).noun_phrases}
        return read(asked, [(passage, _sentences(passage.text)) for passage in found])


def read(question: Collection[str], passages: Iterable[tuple[Passage, Sequence[Phrased]]]) -> Reading:
    """The rule itself: full sentences by the number of their phrases that the question has, then in order.

    >>> passage = Passage("p", "Rome is old. Rome fell.")
    >>> one, two = Phrased(0, 12, "Rome is old.", ()), Phrased(13, 23, "Rome fell.", ("rome",))
    >>> read(["rome"], [(passage, [one, two])]).spans[0].text
    'Rome fell.'
    """
    spans = [
        Span(passage.id, one.start, one.end, one.text, float(sum(phrase in question for phrase in one.phrases)))
        for passage, sentences in passages
        for one in sentences
        if one.text.endswith(".")
    ]
    return Reading(tuple(sorted(spans, key=lambda span: -span.score)[:_MOST_SPANS]), 0.0)


def stem(phrase: str) -> str:
    """NLTK's Porter stemmer on a phrase as if it were one word, so that only its last word changes.

    >>> stem("average starting salaries")  # doctest: +SKIP
    'average starting salari'
    """
    return str(_stemmer().stem(phrase))


@remembered(4096)
def _sentences(text: str) -> tuple[Phrased, ...]:
    # Not TextBlob's own offsets: they are wrong where white space between sentences is longer than one sign.
    found, start = [], 0
    for sentence in _textblob()(text).sentences:
        raw = str(sentence.raw)
        start = text.index(raw, start)
        # Only full sentences can be answers, and noun phrases are what takes time.
        phrases = tuple(stem(phrase) for phrase in sentence.noun_phrases) if raw.endswith(".") else ()
        found.append(Phrased(start, start + len(raw), raw, phrases))
        start += len(raw)
    return tuple(found)


@cache
def _stemmer() -> Any:
    from nltk.stem import PorterStemmer

    return PorterStemmer()


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
                f"noun phrases need NLTK's {corpus}, which is not on this machine (looked in "
                f"{', '.join(nltk.data.path)}). Fetch the corpora beforehand, where there is a network: python -m "
                "textblob.download_corpora lite; NLTK_DATA names another folder that has them."
            ) from None
    return TextBlob
