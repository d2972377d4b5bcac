"""pydantic's errors in plain words: where, what was found, what is wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from convqa.errors import InputError

Shape = TypeVar("Shape", bound=BaseModel)

_SECRET = re.compile(
    r"pass|token|((basic|http)[-_]?)?auth|(.*[-_])?(pass(word|wd|phrase)|secret|credentials?|authorization"
    r"|(api|access|private|secret)[-_]?key|(access|auth|bearer|hf)[-_]?token)",
    re.I,
)

_LOGIN = re.compile(r"://[^/@\s]*:[^/@\s]+@")
"""A user with a password in a URL."""


class Record(BaseModel):
    """Base of what is read from files and requests: strict, so that "1" is no number. Fields that are not known are
    ignored; ``class Mine(Record, extra="forbid")`` refuses them.
    """

    model_config = ConfigDict(strict=True)


def read_as(shape: type[Shape], found: object, where: str, advice: str) -> Shape:
    """The checked value of a file or a record.

    :raises InputError: naming each field that is not as it should be, and then what to do.
    """
    try:
        return shape.model_validate(found)
    except ValidationError as error:
        problems = "; ".join(f"{field or 'the record'}: {message}" for field, message in explain(error))
        raise InputError(f"{where}: {problems}. {advice}") from None


def want(name: str, found: object, kinds: type | tuple[type, ...], wanted: str) -> None:
    """Raise an ``InputError`` unless what a caller gave for a parameter is of one of these types."""
    if not isinstance(found, kinds):
        raise InputError(f"{name}: found {shorten(found)}; wanted {wanted}.")


def explain(error: ValidationError) -> list[tuple[str, str]]:
    """One (field, message) for each error; the field is a path such as ``components.reader.type``."""
    return [(path(item["loc"]), _message(item["msg"], item["type"], item["input"])) for item in error.errors()]


def path(location: Sequence[int | str]) -> str:
    """A pydantic location as a path.

    >>> path(("turns", 3, "Question"))
    'turns[3].Question'
    """
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def shorten(value: object, limit: int = 60) -> str:
    """A value as it may stand in a message: its repr, cut.

    >>> shorten("x" * 100, 10)
    "'xxxxxx..."
    """
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def names_secret(field: str) -> bool:
    """Whether a field is called as one that holds a secret, which belongs into the environment.

    >>> [names_secret(field) for field in ("API-Key", "my_password", "basic_auth", "max_tokens", "eos_token")]
    [True, True, True, False, False]
    """
    return _SECRET.fullmatch(field) is not None


def refuse_secrets(value: object, place: str, named: bool = False) -> None:
    """Refuse a secret in what is printed, and saved beside every run: a pipeline, a component's parameters.

    :param place: the path to the value, for the message, which does not repeat it.
    :param named: whether the value is called as one that holds a secret.
    :raises InputError: for text under such a name, and a password in a URL.
    """
    if isinstance(value, Mapping):
        for name, inner in value.items():
            refuse_secrets(inner, f"{place}.{name}", names_secret(str(name).rpartition(".")[2]))
    elif isinstance(value, list | tuple):
        for inner in value:
            refuse_secrets(inner, place, named)
    elif isinstance(value, str) and (_LOGIN.search(value) or (named and value)):
        raise InputError(
            f"{place}: a pipeline holds no secrets. Put it into the environment and name the variable there, as "
            "{type: env_var, env_vars: [MY_SECRET], strict: true}."
        )


def _message(wanted: str, kind: str, found: object) -> str:
    if kind == "missing" or kind.startswith("missing_"):
        return "is missing"
    if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
        return "is not known here"
    if kind in {"model_type", "dict_type", "dataclass_type"}:
        wanted = "wanted an object"
    return f"found {shorten(found)}; {wanted[0].lower()}{wanted[1:]}"
