"""Check what the methods of components return: one value for each turn, of the type that is wanted."""

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
    """The dotted path of a method."""
    return f"{cls.__module__}.{cls.__qualname__}.{method}"


def returned(made: object, wanted: type, count: int, cls: type, name: str) -> list[Any]:
    """The values that a method of a class returned for ``count`` turns; a Failure may stand in place of any.

    Values of other packages' classes are checked to the depth, and come back with the types that their fields declare.

    :raises TypeError: for what is wrong, saying what came and what was wanted.
    """
    kind, method = wanted.__name__, path_of(cls, name)
    if isinstance(made, str | bytes | Mapping) or not isinstance(made, Iterable):
        raise TypeError(f"{method} returned {shown(made)}; wanted: a list with one {kind} for each turn")
    values = list(made)
    if len(values) != count:
        raise TypeError(f"{method} returned {len(values)} values; wanted: {count}, one {kind} for each turn")
    for value in values:
        if not isinstance(value, wanted | Failure):
            raise TypeError(f"{method} returned {shown(value)}; wanted: {wanted.__module__}.{kind}")
    if cls.__module__.partition(".")[0] == "convqa":
        return values
    return [value if isinstance(value, Failure) else _checked(value, wanted, method) for value in values]


def failed(stage: str, error: Exception, method: str) -> Failure:
    """Turn an error of a component into a Failure, with 2,000 characters of it; the log says where it was raised."""
    logger.debug("%s failed in %s", stage, method, exc_info=error)
    return Failure(stage, type(error).__name__, str(error)[:2000])


def _checked(value: Any, wanted: type, method: str) -> Any:
    try:
        made = _shape(wanted).validate_python((value,))[0]
    except ValidationError as error:
        wrong = error.errors()[0]
        field, message = path(wrong["loc"][1:]), wrong["msg"].replace("Input", "it")
        raise TypeError(
            f"{method} returned a wrong {wanted.__name__}: {field} is {shown(wrong['input'])}; {message}"
        ) from None
    if isinstance(made, Ranking):
        _check_order(made, method)
    return made


def _check_order(ranking: Ranking, method: str) -> None:
    order = [hit.id for hit in ranking.hits]
    if order != [hit.id for hit in Ranking.of(ranking.hits).hits]:
        raise ValueError(f"{method} returned a Ranking whose hits are not in order; wanted: one that Ranking.of sorted")
    if twice := [id for id, following in pairwise(sorted(order)) if id == following]:
        raise ValueError(f"{method} returned a Ranking that has passage {twice[0]!r} twice")


def shown(value: object) -> str:
    """A value as it may stand in a message: plain ones themselves, of others the type."""
    plain = value is None or isinstance(value, str | bytes | int | float)
    return shorten(value) if plain else f"a value of type {type(value).__qualname__}"


@cache
def _shape(wanted: Any) -> TypeAdapter[Any]:
    return TypeAdapter(tuple[wanted], config=ConfigDict(revalidate_instances="always", allow_inf_nan=False))
