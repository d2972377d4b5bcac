"""Readable messages for pydantic's errors: the field, what was expected and what it got."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from convqa.errors import InputError

Shape = TypeVar("Shape", bound=BaseModel)

_SECRET = re.compile(
    r"pass|token|((basic|http)[-_]?)?auth|(.*[-_])?(pass(word|wd|phrase)|secret|credentials?|authorization"
    r"|(api|access|private|secret)[-_]?key|(access|auth|bearer|hf)[-_]?token)",
    re.I,
)

_LOGIN = re.compile(r"://[^/@\s]*:[^/@\s]+@")
"""A user with a password in a URL."""

_SCALARS: dict[object, str] = {
    "str": "string_type",
    "int": "int_type",
    "float": "float_type",
    "bool": "bool_type",
}
_EXPECTED = {
    "string": "a string", "int": "a whole number", "float": "a number", "finite": "a finite number",
    "bool": "true or false", "list": "a list", "tuple": "a list", "dict": "an object", "model": "an object",
    "dataclass": "an object", "literal": "{expected}", "string_pattern_mismatch": "a string that matches {pattern}",
    "too_short": "at least {min_length} items", "greater_than": "more than {0}", "greater_than_equal": "{0} or more",
    "less_than": "less than {0}", "less_than_equal": "at most {0}",
}  # fmt: skip
"""Error type, or its first word -> what was expected."""
UNKNOWN_FIELD = "unknown field"


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("expected a text without the character NUL")
    return text


Text = Annotated[str, AfterValidator(_without_nul)]
"""A text that every store and file format accepts."""
QuestionText = Annotated[Text, Field(min_length=1, pattern=r"\S")]
"""A question: a text that is not blank."""
Item = TypeVar("Item")
BoundedList = Annotated[list[Item], Field(max_length=1000, fail_fast=True)]
"""A list of limited length, whose validation stops at the first mistake."""


class Record(BaseModel):
    """Base of records of files and requests. It is strict: "1" is not a number. Unknown fields are ignored;
    ``class Mine(Record, extra="forbid")`` rejects them.
    """

    model_config = ConfigDict(strict=True)


def read_as(
    shape: type[Shape],
    value: object,
    where: str,
    advice: str,
) -> Shape:
    """Validate the value of a file or a record.

    :raises InputError: naming each malformed field, followed by the advice.
    """
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        problems = "; ".join(f"{field or 'the record'}: {message}" for field, message in explain(error))
        raise InputError(f"{where}: {problems}. {advice}") from None


def expect_type(
    name: str,
    value: object,
    kinds: type | tuple[type, ...],
    expected: str,
) -> None:
    """Raise an ``InputError`` unless the value of a parameter is of one of these types."""
    if not isinstance(value, kinds):
        raise InputError(f"{name}: expected {expected}, got {shorten(value)}.")


def explain(error: ValidationError) -> list[tuple[str, str]]:
    """Return (field, message) for each mistake; the field is a path such as ``components.reader.type``."""
    mistakes: list[tuple[str, str]] = []
    for item in error.errors():
        message = _message(item)
        # Without the names of pydantic's types, such as list[str].
        location = tuple(part for part in item["loc"] if "[" not in str(part))
        if location and _SCALARS.get(location[-1]) == item["type"]:  # one alternative of a union
            location = location[:-1]
            if mistakes and mistakes[-1][0] == path(location):
                expected, got, value = mistakes.pop()[1].partition(", got ")
                message = f"{expected} or {_EXPECTED[item['type'].partition('_')[0]]}{got}{value}"
        mistakes.append((path(location), message))
    return mistakes


def path(location: Sequence[int | str]) -> str:
    """Return a pydantic location as a path.

    >>> path(("turns", 3, "Question"))
    'turns[3].Question'
    """
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def shorten(value: object, limit: int = 60) -> str:
    """Return the repr of a value, truncated for a message.

    >>> shorten("x" * 100, 10)
    "'xxxxxx..."
    """
    try:
        text = repr(value)
    except RecursionError:
        text = "a value that is nested too deeply"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def names_secret(field: str) -> bool:
    """Return whether the name of a field suggests a secret, which belongs in the environment.

    >>> [names_secret(field) for field in ("API-Key", "my_password", "basic_auth", "max_tokens", "eos_token")]
    [True, True, True, False, False]
    """
    return _SECRET.fullmatch(field) is not None


def leaves(value: object, key: str = "") -> Iterator[tuple[str, object]]:
    """Yield the values in nested mappings and lists that are neither, each with the last key on the way to it.

    >>> list(leaves({"a": [{"b": 1}, 2]}))
    [('b', 1), ('a', 2)]
    """
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from leaves(inner, str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner, key)
    else:
        yield key, value


def refuse_secrets(
    value: object,
    field: str,
    named: bool = False,
    advice: str = "",
) -> None:
    """Reject secrets in settings that are printed and saved with every run.

    :param field: the path to the value, for the message, which does not repeat the value.
    :param named: whether the name of the value suggests a secret.
    :param advice: where not, and what to do instead; by default for pipelines.
    :raises InputError: for a text with such a name, or a password in a URL.
    """
    if isinstance(value, Mapping):
        for name, inner in value.items():
            refuse_secrets(inner, f"{field}.{name}", names_secret(str(name).rpartition(".")[2]), advice)
    elif isinstance(value, list | tuple):
        for inner in value:
            refuse_secrets(inner, field, named, advice)
    elif isinstance(value, str) and (_LOGIN.search(value) or (named and value)):
        advice = advice or (
            "in a pipeline. Set an environment variable and name it here, as {type: env_var, env_vars: [MY_SECRET], "
            "strict: true}."
        )
        raise InputError(f"{field}: secrets are not allowed {advice}")


def _message(item: ErrorDetails) -> str:
    kind, value, limits = item["type"], item["input"], item.get("ctx", {})
    if kind == "missing" or kind.startswith("missing_"):
        return "is missing"
    if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
        return UNKNOWN_FIELD
    if kind in {"too_short", "string_too_short", "string_pattern_mismatch"} and (not value or str(value).isspace()):
        return "is empty"
    if kind in {"too_long", "string_too_long"}:
        unit = "characters" if isinstance(value, str) else "items"
        return f"expected at most {limits['max_length']} {unit}, got {len(value)}"
    message = item["msg"].removeprefix("Value error, ")
    expected = _EXPECTED.get(kind) or (None if kind.startswith("string_too") else _EXPECTED.get(kind.partition("_")[0]))
    if expected:
        message = f"expected {expected.format(message.rpartition(' ')[2], **limits)}"
    if message.startswith("expected"):
        return f"{message}, got {shorten(value)}"
    return f"got {shorten(value)}: {message[0].lower()}{message[1:]}"
