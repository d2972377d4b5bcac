"""Decides by a logistic of a few signals: a score from 0 to 1 of how well the passages answer the question.

The signals are comparable between pipelines: they depend neither on a retriever's scores nor on the length of the
ranking. The weights come from a YAML file; ``configs/decisions`` has one for each kind of reader.
docs/reference/answers.md says how they were fitted and how accurate they are.
"""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, FiniteFloat

from convqa.components.base import Decider
from convqa.components.checks import nothing
from convqa.components.encoding import ModelOptions, QueryEncoder, fitted_for
from convqa.components.members import member
from convqa.components.parameters import Name, Share
from convqa.domain import UNAIDED, UNSURE, Answer, Ranking, Reading, Rewrite, Turn, quotes
from convqa.errors import InputError
from convqa.models import TextEncoder
from convqa.places import yaml_file
from convqa.safe_yaml import read_yaml
from convqa.text.analysis import analyzer
from convqa.text.cache import remembered
from convqa.text.idf import idf
from convqa.text.sentences import sentences
from convqa.text.support import IDENTITY as LEXICAL_SUPPORT
from convqa.text.support import SUPPORTED, lexical_support
from convqa.validation import read_as

Signal = Literal["null", "best", "word_share", "cosine"]
"""The signals, which :func:`signals` describes."""

_MAX_PASSAGES = 3
"""How many passages are searched for words of the question."""

_MAX_SPANS = 3
"""How many spans are compared with the question."""

_WORDS_DECISION = "sentences"

_MAX_LOGIT = 50.0

REFUSED = "the passages found do not seem to answer the question"

logger = logging.getLogger(__name__)


class Weight(BaseModel, extra="forbid", frozen=True, strict=True):
    """The weight of a signal, standardized with ``mean`` and ``deviation``."""

    mean: FiniteFloat
    deviation: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    weight: FiniteFloat


class Decision(BaseModel, extra="forbid", frozen=True, strict=True):
    """A file of ``configs/decisions``. ``fitted`` documents how it was fitted.

    Answers below ``threshold`` are refused, those below ``sure_threshold`` marked as unsure. ``encoder``: the family of
    the encoder whose cosines it was fitted to; "" = the shipped one.
    """

    intercept: FiniteFloat
    signals: dict[Signal, Weight]
    threshold: Share
    sure_threshold: Share = 0.0
    encoder: str = ""
    fitted: dict[str, Any] = Field(default_factory=dict)

    @property
    def identity(self) -> str:
        """A digest of everything that influences the score."""
        without = {"fitted", "encoder"}
        if not self.sure_threshold:
            without.add("sure_threshold")
        content = self.model_dump_json(exclude=without)
        return f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"

    def weigh(self, values: Mapping[str, float | None]) -> float:
        """Return the logistic of the signals. A missing signal counts as its mean.

        >>> decision = Decision(intercept=0.0, signals={"null": Weight(mean=0.5, deviation=0.5, weight=-1.0)},
        ...                     threshold=0.5)
        >>> decision.weigh({"null": None}), round(decision.weigh({"null": 1.0}), 3)
        (0.5, 0.269)
        """
        logit = self.intercept
        for name, signal in self.signals.items():
            value = values.get(name)
            if value is not None:
                logit += signal.weight * (value - signal.mean) / signal.deviation
        bounded = max(-_MAX_LOGIT, min(_MAX_LOGIT, logit))
        return 1 / (1 + math.exp(-bounded))

    def score(
        self,
        values: Mapping[str, float | None],
        ranking: Ranking,
        answer: Answer,
        language: str,
    ) -> float:
        """Return how well the passages support the answer, from 0 to 1 (not a probability); 0 without passages.

        The logistic of the turn's signals is multiplied by the support of the answer's quotes, 1 for literal quotes.

        :param values: the turn's signals.
        """
        if not ranking.hits:
            return 0.0
        score = self.weigh(values)
        if answer.kind == "answer":
            score *= support(answer, ranking, language)
        return score


def load_decision(name: str) -> Decision:
    """Load a decision, given a shipped name or the path of a YAML file.

    :raises InputError: if it is unknown or malformed.
    """
    path = yaml_file(
        name,
        "decision",
        "configs",
        "decisions",
    )
    advice = "See docs/reference/answers.md and the files of configs/decisions."
    return read_as(
        Decision,
        read_yaml(path, "decision"),
        f"decision {path}",
        advice,
    )


def cosine(
    queries: QueryEncoder,
    turn: Turn,
    rewrite: Rewrite,
    ranking: Ranking,
    reading: Reading | None,
) -> float | None:
    """Return the signal ``cosine``: the maximum cosine of the question and the reading's first three spans.

    A span is encoded with its passage's title, as in the reader ``sentences``. None without spans, and in a language
    that the encoder does not know.
    """
    spans = reading.spans[:_MAX_SPANS] if reading is not None else ()
    if not spans or not queries.model.knows(turn.language):
        return None
    (question,) = queries.of_rewrites([rewrite])
    if question is None:
        return None
    titles = {hit.id: hit.passage.title for hit in ranking.hits if hit.passage is not None}
    texts = []
    for span in spans:
        title = titles.get(span.passage_id)
        texts.append(f"{title}. {span.text}" if title else span.text)
    vectors = queries.model.remembered(texts)
    return max(float(vector @ question) for vector in vectors)


def signals(
    turn: Turn,
    rewrite: Rewrite,
    ranking: Ranking,
    reading: Reading | None,
) -> dict[str, float | None]:
    """Return the signals of a turn by name, except its cosine. All are finite.

    ``null``: the reading's null score, clipped to 0 to 1: for the sentence reader, the share of the question that no
    sentence has; for a model, the probability of no answer. ``best``: the score s of the best span as s / (1 + |s|),
    for scores of any scale. ``word_share``: the maximum share of the question's content words, weighted by idf, in two
    consecutive sentences of the first three passages.
    """
    null = best = None
    if reading is not None:
        null = min(1.0, max(0.0, reading.null_score))
        if reading.spans and math.isfinite(reading.spans[0].score):
            score = reading.spans[0].score
            best = score / (1 + abs(score))
    return {"null": null, "best": best, "word_share": _word_share(rewrite.text, ranking, turn.language)}


def support(answer: Answer, ranking: Ranking, language: str) -> float:
    """Return the mean support of the answer's sentences by their quotes, from 0 to 1.

    A sentence has 1 if the words of its quotes support it, or if it is one, 0 if it shares none or has no citation. A
    citation without offsets quotes the whole passage.
    """
    texts = quotes(answer, ranking)
    scores = []
    for sentence in answer.sentences:
        quoted = [texts[citation] for citation in sentence.citations]
        scores.append(_sentence_support(sentence.text, quoted, language))
    return sum(scores) / len(scores) if scores else 0.0


def _sentence_support(sentence: str, quotes: Sequence[str], language: str) -> float:
    if not quotes:
        return 0.0
    words = " ".join(sentence.split())
    if any(words in " ".join(quote.split()) for quote in quotes):
        return 1.0
    try:
        score = lexical_support("\n".join(quotes), sentence, language)
    except InputError:
        return 1.0  # a language without an analyzer
    return min(1.0, score / SUPPORTED)


def _word_share(question: str, ranking: Ranking, language: str) -> float | None:
    """Return ``word_share``, None without content words or passages."""
    passages = ranking.passages(_MAX_PASSAGES)
    try:
        weights = {stem: idf(word, language) for word, stem in analyzer(language).content_words(question)}
    except InputError:
        return None
    total = sum(weights.values())
    if not total or not passages:
        return None
    shares = {token: weight / total for token, weight in weights.items()}
    largest = 0.0
    for passage in passages:
        before: frozenset[str] = frozenset()
        for tokens in _sentence_tokens(passage.text, language):
            near = before | tokens
            largest = max(largest, sum(share for token, share in shares.items() if token in near))
            before = tokens
    return largest


@remembered(4096)
def _sentence_tokens(text: str, language: str) -> tuple[frozenset[str], ...]:
    tokens = analyzer(language).tokens
    return tuple(frozenset(tokens(text[start:end])) for start, end in sentences(text, language))


@member
class Logistic(Decider):
    """Score how well the passages answer the question, and refuse answers below a threshold.

    Questions of the system are never refused.

    Example::

        decider: {type: logistic, init_parameters: {decision: sentences, threshold: 0.5}}

    :param decision: the name of a file in ``configs/decisions``, or the path of a YAML file. None: answers are
        returned unchanged, without a score.
    :param threshold: minimum score; None = the decision's own, 0 = nothing is refused.
    :param encoder: the encoder for the signal ``cosine``: the reader's, so that nothing is encoded twice. None = the
        signal counts as its mean. With an encoder, turns without a cosine, as in a language that it does not know, are
        returned unchanged. If the decision was fitted to another encoder, ``sentences`` decides, by words alone, with a
        warning.
    :param options: its ``device`` and ``precision``.
    :param decide_generated: whether to decide on generated answers too. If not, they are returned unchanged, but not
        the answers of a fallback.
    """

    decision: str | None = None
    threshold: Share | None = None
    encoder: Name | None = None
    options: ModelOptions | None = None
    decide_generated: bool = True

    def __post_init__(self) -> None:
        if self.decision is None and self.threshold:
            raise InputError(
                f"threshold: {self.threshold} needs a decision, whose score it limits. Add one: "
                "--set decider.decision=sentences."
            )
        self._decision = None if self.decision is None else load_decision(self.decision)
        self._queries = None if self.encoder is None else QueryEncoder(self.encoder, self.options)

    def warm_up(self) -> None:
        """Decide by words where the decision was not fitted to the encoder's cosines."""
        if self._queries is None or self._decision is None:
            return
        if fitted_for(self._queries.model, self._decision.encoder):
            return
        logger.warning(
            "the decision %r was not fitted to cosines of the encoder %r: %r, which looks at words alone, decides. "
            "Leave decider.encoder out to do so without this warning",
            self.decision,
            self._queries.name,
            _WORDS_DECISION,
        )
        self._queries = None
        self._decision = load_decision(_WORDS_DECISION)

    def models(self) -> Mapping[str, TextEncoder]:
        return {} if self._queries is None else {"encoder": self._queries.model}

    def identity(self) -> Mapping[str, str]:
        if self._decision is None:
            return {}
        identity = {**Decider.identity(self), "decision": self._decision.identity}
        if self.threshold != 0:
            identity["decision's support"] = LEXICAL_SUPPORT
        return identity

    def decide(
        self,
        turn: Turn,
        rewrite: Rewrite,
        ranking: Ranking,
        reading: Reading | None,
        answer: Answer,
    ) -> Answer:
        if not self.decide_generated and UNAIDED not in answer.notes:
            return answer
        decision = self._decision
        similarity = None
        if decision is not None and self._queries is not None:
            similarity = cosine(
                self._queries,
                turn,
                rewrite,
                ranking,
                reading,
            )
            if similarity is None and ranking.hits:
                decision = None
        if decision is None:
            return answer if answer.score is None else replace(answer, score=None)
        values = {
            **signals(
                turn,
                rewrite,
                ranking,
                reading,
            ),
            "cosine": similarity,
        }
        score = decision.score(
            values,
            ranking,
            answer,
            turn.language,
        )
        threshold = decision.threshold if self.threshold is None else self.threshold
        notes = answer.notes
        if answer.kind == "answer" and score < threshold:
            return replace(nothing(ranking, REFUSED, score), notes=notes)
        if answer.kind == "answer" and score < decision.sure_threshold:
            notes = (*notes, UNSURE)
        return replace(answer, score=score, notes=notes)
