"""pydantic's errors in plain words: where, what was found, what is wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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


_PLAIN: dict[object, str] = {"str": "string_type", "int": "int_type", "float": "float_type", "bool": "bool_type"}
_WANTED = {
    "string": "a string", "int": "a whole number", "float": "a number", "finite": "a finite number",
    "bool": "true or false", "list": "a list", "tuple": "a list", "dict": "an object", "model": "an object",
    "dataclass": "an object", "literal": "{expected}", "string_pattern_mismatch": "a string that matches {pattern}",
    "too_short": "at least {min_length} items", "greater_than": "more than {0}", "greater_than_equal": "{0} or more",
    "less_than": "less than {0}", "less_than_equal": "at most {0}",
}  # fmt: skip
"""What is wanted, by the kind of a mistake or its first word."""


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("wanted a text without the character NUL")
    return text


Text = Annotated[str, AfterValidator(_without_nul)]
"""A text that everything can store."""
QuestionText = Annotated[Text, Field(min_length=1, pattern=r"\S")]
"""A question: some characters are no blanks."""


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
    """One (field, message) for each mistake; the field is a path such as ``components.reader.type``."""
    told: list[tuple[str, str]] = []
    for item in error.errors():
        place, message = item["loc"], _message(item)
        if place and _PLAIN.get(place[-1]) == item["type"]:  # one of the types that a value may have
            field = path(place[:-1])
            if told and told[-1][0] == field:
                message = f"{told.pop()[1]} or {_WANTED[item['type'].partition('_')[0]]}"
            told.append((field, message))
        else:
            told.append((path(place), message))
    return told


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


def _message(item: ErrorDetails) -> str:
    kind, found, limits = item["type"], item["input"], item.get("ctx", {})
    if kind == "missing" or kind.startswith("missing_"):
        return "is missing"
    if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
        return "is not known here"
    if kind in {"too_short", "string_too_short", "string_pattern_mismatch"} and (not found or str(found).isspace()):
        return "is empty"
    if kind in {"too_long", "string_too_long"}:
        things = "characters" if isinstance(found, str) else "items"
        return f"found {len(found)} {things}; wanted at most {limits['max_length']}"
    said = item["msg"].removeprefix("Value error, ")
    wanted = _WANTED.get(kind) or (None if kind.startswith("string_too") else _WANTED.get(kind.partition("_")[0]))
    if wanted:
        said = f"wanted {wanted.format(said.rpartition(' ')[2], **limits)}"
    return f"found {shorten(found)}; {said[0].lower()}{said[1:]}"
