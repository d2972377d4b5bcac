"""A decision: a score from 0 to 1 of how well the passages answer the question, by a logistic of a few signals.

The signals are numbers that every pipeline has alike: none depends on a retriever's scores, nor on how many passages
are ranked behind those that are read. The weights come from a YAML file; those that ship are in ``configs/decisions``,
one for each kind of reader. docs/answers.md says how they were fitted, and how often they are right.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from convqa.components.encoding import QueryEncoder
from convqa.domain import Answer, Ranking, Reading, Rewrite, Turn, quotes
from convqa.errors import InputError
from convqa.places import yaml_file
from convqa.safe_yaml import read_yaml
from convqa.text.analysis import analyzer
from convqa.text.cache import remembered
from convqa.text.idf import idf
from convqa.text.sentences import sentences
from convqa.text.support import SUPPORTED, lexical_support
from convqa.validation import read_as

Signal = Literal["null", "best", "found", "near", "cosine"]
"""``signals`` says what each is."""

_TOP = 3
"""Passages in which the question's words are looked for."""

Threshold = Annotated[float, Field(ge=0, le=1)]
"""Of the score: below it nothing is said. 0 always answers."""

Number = Annotated[float, Field(allow_inf_nan=False)]


class Weight(BaseModel, extra="forbid", frozen=True, strict=True):
    """The weight of a signal: ``weight`` for each ``deviation`` that it is above its ``mean``."""

    mean: Number
    deviation: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    weight: Number


class Decision(BaseModel, extra="forbid", frozen=True, strict=True):
    """A file of ``configs/decisions``; ``fitted`` says how it came about, for its readers alone.

    Below ``threshold`` nothing is said; what scores below ``sure`` is said with doubt. ``encoder``: the family of the
    encoder whose cosines it was fitted to; "" = the one that ships.
    """

    intercept: Number
    signals: dict[Signal, Weight]
    threshold: Threshold
    sure: Threshold = 0.0
    encoder: str = ""
    fitted: dict[str, Any] = Field(default_factory=dict)

    @property
    def identity(self) -> str:
        """A digest of all that shapes the score."""
        shape = self.model_dump_json(exclude={"fitted", "encoder"} if self.sure else {"fitted", "encoder", "sure"})
        return f"sha256:{hashlib.sha256(shape.encode()).hexdigest()}"

    def weigh(self, found: Mapping[str, float | None]) -> float:
        """The logistic of the signals; one that is missing counts as its mean.

        >>> decision = Decision(intercept=0.0, signals={"null": Weight(mean=0.5, deviation=0.5, weight=-1.0)},
        ...                     threshold=0.5)
        >>> decision.weigh({"null": None}), round(decision.weigh({"null": 1.0}), 3)
        (0.5, 0.269)
        """
        logit = self.intercept
        for name, one in self.signals.items():
            value = found.get(name)
            if value is not None:
                logit += one.weight * (value - one.mean) / one.deviation
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))

    def score(self, found: Mapping[str, float | None], ranking: Ranking, answer: Answer, language: str) -> float:
        """How well the passages answer the question, and as the answer says: from 0 to 1, no likelihood.

        0 where nothing was found. An answer that its own quotes do not support loses what it lacks of that; one that
        quotes word for word loses nothing.

        :param found: the turn's signals.
        """
        if not ranking.hits:
            return 0.0
        score = self.weigh(found)
        return score * support(answer, ranking, language) if answer.kind == "answer" else score


def load_decision(name: str) -> Decision:
    """A decision by its shipped name or the path of a YAML file.

    :raises InputError: if there is none of this name, or it is not as it should be.
    """
    path = yaml_file(name, "decision", "configs", "decisions")
    advice = "See docs/answers.md and the files of configs/decisions."
    return read_as(Decision, read_yaml(path, "decision"), f"decision {path}", advice)


def cosine(
    queries: QueryEncoder, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None
) -> float | None:
    """The signal ``cosine``: of the question's vector and the nearest of the reading's first three spans.

    A span is encoded with its passage's title, as the reader ``sentences`` does. None without spans, and in a language
    that the encoder does not know.
    """
    spans = reading.spans[:_TOP] if reading is not None and queries.model.knows(turn.language) else ()
    (asked,) = queries.of_rewrites([rewrite]) if spans else (None,)
    if asked is None:
        return None
    titles = {hit.id: hit.passage.title for hit in ranking.hits if hit.passage is not None}
    titled = [(titles.get(span.passage_id), span.text) for span in spans]
    texts = [f"{title}. {text}" if title else text for title, text in titled]
    return max(float(vector @ asked) for vector in queries.model.remembered(texts, "passage", keep=True))


def signals(turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None) -> dict[str, float | None]:
    """All signals of a turn by name, but for its cosine, each finite.

    ``null``: the reading's null score, cut to 0 to 1: of the sentence reader the share of the question that no
    sentence has, of a model the probability that nothing answers. ``best``: the score s of its best span as
    s / (1 + |s|), so that any scale fits. ``found``: the share of the question's content words, each counting its idf,
    that the first three passages with their titles have together; ``near``: the most that two sentences in a row have
    of it.
    """
    found, near = _coverage(rewrite.text, ranking, turn.language)
    spans = () if reading is None else reading.spans
    return {
        "null": None if reading is None else min(1.0, max(0.0, reading.null_score)),
        "best": spans[0].score / (1 + abs(spans[0].score)) if spans and math.isfinite(spans[0].score) else None,
        "found": found,
        "near": near,
    }


def support(answer: Answer, ranking: Ranking, language: str) -> float:
    """How far the answer's sentences have what they cite behind them, 0 to 1: the mean over its sentences.

    1 for a sentence that is supported by the words of its quotes (or is one), falling to 0 for one that shares none;
    0 for one that cites nothing. A whole passage counts as quoted where a citation has no offsets.
    """
    texts = quotes(answer, ranking)
    found = []
    for sentence in answer.sentences:
        quoted = [texts[citation] for citation in sentence.citations]
        if not quoted:
            found.append(0.0)
        elif any(" ".join(sentence.text.split()) in " ".join(text.split()) for text in quoted):
            found.append(1.0)
        else:
            try:
                found.append(min(1.0, lexical_support("\n".join(quoted), sentence.text, language) / SUPPORTED))
            except InputError:
                found.append(1.0)  # a language without an analysis: nothing is known against it
    return sum(found) / len(found) if found else 0.0


def _coverage(question: str, ranking: Ranking, language: str) -> tuple[float | None, float | None]:
    """``found`` and ``near``; None both where there is nothing to look for, or nowhere to look."""
    passages = [hit.passage for hit in ranking.hits[:_TOP] if hit.passage is not None]
    try:
        wanted = _shares(question, language)
    except InputError:
        return None, None
    if not wanted or not passages:
        return None, None
    read = [_sentences(passage.text, language) for passage in passages]
    titles = frozenset(analyzer(language).tokens(" ".join(passage.title for passage in passages)))
    together = titles.union(*(tokens for text in read for tokens in text))
    pairs = (one | two for text in read for one, two in pairwise((*text, frozenset())))
    near = max((sum(share for token, share in wanted.items() if token in pair) for pair in pairs), default=0.0)
    return sum(share for token, share in wanted.items() if token in together), near


@remembered(4096)
def _sentences(text: str, language: str) -> tuple[frozenset[str], ...]:
    """The tokens of each sentence."""
    tokens = analyzer(language).tokens
    return tuple(frozenset(tokens(text[start:end])) for start, end in sentences(text, language))


def _shares(question: str, language: str) -> Mapping[str, float]:
    """The content words of a question: token -> share of their idf."""
    words = {stem: idf(word, language) for word, stem in analyzer(language).content_words(question)}
    total = sum(words.values())
    return {token: value / total for token, value in words.items()} if total else {}
