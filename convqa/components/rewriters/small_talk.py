"""Wraps another rewriter and makes no query for what asks the passages nothing, such as thanks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from convqa.components.acts import ACTS, AGAIN, MORE, meant
from convqa.components.base import Rewriter
from convqa.components.history import first_and_latest
from convqa.components.members import describe, make, member
from convqa.domain import Rewrite, Turn
from convqa.models import TextEncoder, load_encoder
from convqa.models.types import Array
from convqa.places import shipped
from convqa.safe_yaml import read_yaml
from convqa.text.dialogue import replies

IDLE = "small_talk: nothing was asked"

WEIGHTS = Path(__file__).with_suffix(".npz")
"""``weights`` of the features of a text for each act, and ``words``. ``python -m recipes.small_talk`` makes them."""

JUDGED = tuple(act for act in ACTS if act not in ("", MORE))
"""The acts that the weights tell apart, in their order; the weights of a question are zero."""

MIN_LOG_ODDS = -1.0
"""Minimum log odds of all acts together against a question. Chosen by cross-validation: 84 % of acts, 0.3 % of
questions."""

_COURTEOUS = ("thanks", "greeting", "praise", "bye")

_THEN_ASKS = re.compile(
    r"(?i)[,.!;-]\s*(?:and |but |so )?(?:what|how|when|where|who|which|why) (?!an?\b|are you|is it going)\w"
)
"""A question after a courtesy, such as "cheers, how much butter"."""

_MAX_WORDS = 20

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


@member
class SmallTalk(Rewriter):
    """Make no query for small talk ("thanks", "ok cool"), and hide it from the other rewriter in later turns.

    A text is small talk if it consists only of phrases from ``configs/small_talk.yaml``: "ok, thanks!" does, "thanks,
    and his wife?" does not. An English text is also judged by its vector, so that "thank you my dear, back to my
    needles" is, and "are you sure?" or "which documents do you have?" are other acts, as is "tell me more"
    (:mod:`convqa.components.acts`). Replies to questions of the system are never acts. A run's summary counts these
    turns.

    Example::

        rewriter: {type: small_talk, init_parameters: {rewriter: expansion}}

    :param rewriter: the rewriter of the other turns: its name, or ``{type: ..., init_parameters: {...}}``.
    """

    rewriter: Any = "edit"

    def __post_init__(self) -> None:
        self._rewriter = make(self.rewriter, "rewriter", Rewriter)
        self.inner = [self._rewriter]
        self.rewriter = describe(self._rewriter)

    @cached_property
    def _encoder(self) -> TextEncoder:
        return load_encoder("encoder")

    def models(self) -> Mapping[str, TextEncoder]:
        return {"small talk": self._encoder}

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        acts = self._acts(turns)
        rewrites = [Rewrite(turn.question, (), (IDLE,), act=act or "") for turn, act in zip(turns, acts, strict=True)]
        asking = [index for index, act in enumerate(acts) if act is None]
        asked = [replace(turns[index], history=first_and_latest(turns[index].history)) for index in asking]
        others = self._rewriter.rewrite_batch(asked)
        for index, rewrite in zip(asking, others, strict=True):
            rewrites[index] = rewrite
        return rewrites

    def _acts(self, turns: Sequence[Turn]) -> list[str | None]:
        """Return the act of each turn, None for those that ask the passages something."""
        acts: list[str | None] = [None] * len(turns)
        judged = []
        for index, turn in enumerate(turns):
            if replies(turn) or not turn.question.strip():
                continue
            act = phrased(turn.question, turn.language)
            # There is more to quote only of passages that are known. Chat clients keep just the text of an answer.
            earlier = meant(MORE, turn) if act == MORE else None
            is_uncited = earlier is not None and earlier.answer and not earlier.cited
            if act is None and turn.language == "en":
                judged.append(index)
            elif act != "question" and not is_uncited:
                acts[index] = act
        if not judged:
            return acts
        weights, words = _weights()
        log_odds = features(self._encoder, [turns[index].question for index in judged], words) @ weights.T
        for index, odds in zip(judged, log_odds, strict=True):
            question = turns[index].question
            act = JUDGED[int(np.argmax(odds))]
            # "Hi, can you help me?" is only a greeting.
            asks = _THEN_ASKS.search(question) or (act != "greeting" and question.rstrip().endswith("?"))
            if np.logaddexp.reduce(odds) <= MIN_LOG_ODDS or (act in _COURTEOUS and asks):
                continue
            if act not in AGAIN or meant(act, turns[index]):
                acts[index] = act
        return acts


def phrased(text: str, language: str = "en") -> str | None:
    """Return the last act of a text that consists of phrases, "" for small talk of any kind; None for other texts.

    Texts with a question mark do not consist of phrases, except for "how are you?", "anything else?" and the like.
    Neither do texts in a language without phrases.

    >>> [phrased(text) for text in ("ok cool", "Thanks, bye!", "tell me more", "no, I meant the other one", "lol")]
    ['praise', 'bye', 'more', 'question', '']
    >>> [phrased(text) for text in ("tell me more about Faust", "hello kitty", "thanks, and his wife?", "why")]
    [None, None, None, None]
    """
    phrase = _phrase(language)
    words = _WORD.findall(text.lower().replace("\u2019", "'"))
    if phrase is None or len(words) > _MAX_WORDS:
        return None
    act = ""
    start = 0
    while start < len(words):
        # The longest phrase first, to avoid backtracking.
        for end in range(len(words), start, -1):
            if match := phrase.fullmatch(" ".join(words[start:end])):
                act = match.lastgroup or act
                start = end
                break
        else:
            return None
    is_asked = "?" in text.replace("\uff1f", "?")
    return None if is_asked and act not in (MORE, "greeting") else act


def features(
    encoder: TextEncoder,
    texts: Sequence[str],
    words: Sequence[str],
) -> Array:
    """Return the features of texts, (n, dimension + 3 + words).

    They are the vector, 1, whether the text has a question mark, its length in tens of words, and which of the words
    it has.
    """
    others = []
    for text in texts:
        own = words_of(text)
        has_words = [word in own for word in words]
        others.append((1.0, "?" in text, min(len(text.split()), 30) / 10, *has_words))
    return np.hstack([encoder.remembered(texts, role="query"), np.array(others, np.float32)])


def words_of(text: str) -> set[str]:
    """Return the lower-case words of a text, without apostrophes.

    >>> sorted(words_of("That's it, THAT'S all"))
    ['all', 'it', 'thats']
    """
    return set(_WORD.findall(text.lower().replace("\u2019", "'").replace("'", "")))


@cache
def _weights() -> tuple[Array, list[str]]:
    file = np.load(WEIGHTS)
    return file["weights"], file["words"].tolist()


@cache
def _phrase(language: str) -> re.Pattern[str] | None:
    """Return the pattern of one phrase of a language, or None if the language has no phrases."""
    lists: dict[str, Any] = read_yaml(shipped("configs", "small_talk.yaml"), "small talk")
    if language not in lists["phrases"]:
        return None
    acts = [f"(?P<{act}>{'|'.join(own)})" for act, own in lists["acts"][language].items()]
    phrases = "|".join([*acts, *lists["phrases"][language]])
    address = "{address}" if language == "en" else ""
    pattern = f"(?:and |but )?(?:{phrases}){address}"
    for name, part in reversed(lists["parts"].items()):
        pattern = pattern.replace(f"{{{name}}}", part)
    return re.compile(pattern)
