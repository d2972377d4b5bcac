"""An ``lru_cache`` for functions of text that skips very long texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

from convqa.domain import Passage

MAX_CACHED_CHARS = 10_000
"""Maximum length of the arguments of a cached call. Passages of open collections average about 700."""

T = TypeVar("T")


def remembered(entries: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Cache up to ``entries`` results of texts and passages, but not of those over ``MAX_CACHED_CHARS`` characters.

    >>> calls = []
    >>> size = remembered(8)(lambda text: calls.append(text) or len(text))
    >>> [size("a"), size("a"), size("b" * 10_001), size("b" * 10_001)], len(calls)
    ([1, 1, 10001, 10001], 3)
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        cached = lru_cache(maxsize=entries)(function)

        @wraps(function)
        def call(*arguments: str | Passage) -> T:
            texts = (value.text if isinstance(value, Passage) else value for value in arguments)
            if sum(map(len, texts)) > MAX_CACHED_CHARS:
                return function(*arguments)
            return cached(*arguments)

        return call

    return decorate
