"""Check what the methods of components return: one value for each turn, of the type that is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from convqa.domain import Failure
from convqa.validation import path, shorten


def returned(made: object, wanted: type, count: int, method: str) -> list[Any]:
    """The values that a method returned for ``count`` turns; a Failure may stand in place of any.

    Values of other packages are checked to the depth, and come back with the types that their fields declare.

    :param method: its dotted path.
    :raises TypeError: for what is wrong, saying what came and what was wanted.
    """
    kind = wanted.__name__
    if isinstance(made, str | bytes | Mapping) or not isinstance(made, Iterable):
        raise TypeError(f"{method} returned {shown(made)}; wanted: a list with one {kind} for each turn")
    values = list(made)
    if len(values) != count:
        raise TypeError(f"{method} returned {len(values)} values; wanted: {count}, one {kind} for each turn")
    return [value if isinstance(value, Failure) else _typed(value, wanted, method) for value in values]


def _typed(value: object, wanted: type, method: str) -> object:
    if not isinstance(value, wanted):
        raise TypeError(f"{method} returned {shown(value)}; wanted: {wanted.__module__}.{wanted.__name__}")
    if method.startswith("convqa."):
        return value
    try:
        return _shape(wanted).validate_python((value,))[0]
    except ValidationError as error:
        wrong = error.errors()[0]
        field, message = path(wrong["loc"][1:]), wrong["msg"].replace("Input", "it")
        raise TypeError(
            f"{method} returned a wrong {wanted.__name__}: {field} is {shown(wrong['input'])}; {message}"
        ) from None


def shown(value: object) -> str:
    """A value as it may stand in a message: plain ones themselves, of others the type."""
    plain = value is None or isinstance(value, str | bytes | int | float)
    return shorten(value) if plain else f"a value of type {type(value).__qualname__}"


@cache
def _shape(wanted: Any) -> TypeAdapter[Any]:
    return TypeAdapter(tuple[wanted], config=ConfigDict(revalidate_instances="always"))
