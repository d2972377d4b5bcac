"""Checks of the values that methods of components return: one value of the right type for each turn."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from convqa.domain import Failure, Ranking
from convqa.validation import path, shorten

logger = logging.getLogger(__name__)


def path_of(cls: type, method: str) -> str:
    """Return the dotted path of a method."""
    return f"{cls.__module__}.{cls.__qualname__}.{method}"


def returned(result: object, expected: type, count: int, cls: type, name: str) -> list[Any]:
    """Check the result of a method for ``count`` turns. Each value may also be a Failure.

    Values from classes of other packages are validated deeply and converted to the declared types of their fields.

    :raises TypeError: saying what was expected and what was returned.
    """
    kind, method = expected.__name__, path_of(cls, name)
    if isinstance(result, str | bytes | Mapping) or not isinstance(result, Iterable):
        raise TypeError(f"{method} returned {shown(result)}; expected a list with one {kind} for each turn")
    values = list(result)
    if len(values) != count:
        raise TypeError(f"{method} returned {len(values)} values; expected {count}, one {kind} for each turn")
    for value in values:
        if not isinstance(value, expected | Failure):
            raise TypeError(f"{method} returned {shown(value)}; expected {expected.__module__}.{kind}")
    if cls.__module__.partition(".")[0] == "convqa":
        return values
    return [value if isinstance(value, Failure) else _validated(value, expected, method) for value in values]


def failed(stage: str, error: Exception, method: str) -> Failure:
    """Return the Failure for an error, with 2,000 characters of its message, and log the traceback."""
    logger.debug("%s failed in %s", stage, method, exc_info=error)
    return Failure(stage, type(error).__name__, str(error)[:2000])


def _validated(value: Any, expected: type, method: str) -> Any:
    try:
        value = _adapter(expected).validate_python((value,))[0]
    except ValidationError as error:
        mistake = error.errors()[0]
        field, message = path(mistake["loc"][1:]), mistake["msg"].replace("Input", "it")
        raise TypeError(
            f"{method} returned a malformed {expected.__name__}: {field} is {shown(mistake['input'])}; {message}"
        ) from None
    if isinstance(value, Ranking):
        _check_order(value, method)
    return value


def _check_order(ranking: Ranking, method: str) -> None:
    order = [hit.id for hit in ranking.hits]
    if order != [hit.id for hit in Ranking.of(ranking.hits).hits]:
        raise ValueError(f"{method} returned a Ranking with unsorted hits; expected the order of Ranking.of")
    if duplicates := [id for id, following in pairwise(sorted(order)) if id == following]:
        raise ValueError(f"{method} returned a Ranking with passage {duplicates[0]!r} twice")


def shown(value: object) -> str:
    """Return a value for a message: the value itself if it is a scalar, otherwise its type."""
    plain = value is None or isinstance(value, str | bytes | int | float)
    return shorten(value) if plain else f"a value of type {type(value).__qualname__}"


@cache
def _adapter(expected: Any) -> TypeAdapter[Any]:
    return TypeAdapter(tuple[expected], config=ConfigDict(revalidate_instances="always", allow_inf_nan=False))
