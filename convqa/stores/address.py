"""Where a collection is, and what a file of ``configs/collections`` says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from convqa.errors import InputError
from convqa.places import is_yaml, shipped_yaml, yaml_file
from convqa.safe_yaml import read_yaml
from convqa.text.analysis import analyzer
from convqa.validation import Record, names_secret, read_as

SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):")
"""The beginning of an engine's URL; a folder has none (and a drive of Windows is one letter)."""

_USER = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+://).*@", re.DOTALL)
_VALUE = re.compile(r"([?&;][^=&;]*=)[^&;]*")
_WANTED = "Wanted: url, and if needed fields, vector, encoder, language and settings."


class Fields(Record, extra="forbid"):
    """Where an index that others filled keeps its passages: names of its fields, "" for none.

    ``id`` "" is the engine's own id of a document. ``meta``: fields that become ``Passage.meta``.
    """

    text: str = Field(min_length=1)
    id: str = ""
    title: str = ""
    url: str = ""
    meta: list[str] = []


class Address(Record, extra="forbid"):
    """A collection's URL, as a file of ``configs/collections`` holds it. ``settings`` are the engine's, for making it.
    The others are told for an index that others filled: its ``fields`` and ``language``, the field that is a
    ``vector``, and the ``encoder`` that made those."""

    url: str = Field(min_length=1)
    fields: Fields | None = None
    language: str | None = None
    settings: dict[str, int | float | str | bool] = {}
    vector: str = ""
    encoder: str = ""


def address(name: str) -> Address:
    """A URL or folder as it stands, a YAML file, or the name of a shipped one where nothing else has the name.

    :raises InputError: if the file is missing or has a mistake.
    """
    # Not validated: a path on disk may be no UTF-8.
    plain = Address.model_construct(url=name)
    if SCHEME.match(name) or Path(name).is_dir():
        return plain
    if is_yaml(name) or (name in shipped_names() and not Path(name).exists()):
        return _read(yaml_file(name, "--collection", "configs", "collections"))
    return plain


def shipped_names() -> list[str]:
    """The names of the files in ``configs/collections``."""
    return shipped_yaml("configs", "collections")


def _read(path: Path) -> Address:
    data, where = read_yaml(path, "collection file"), f"collection file {path}"
    for place in _secrets(data):
        raise InputError(
            f"{where}: {place}: no file holds a secret. Take it out and put it into the environment: "
            "CONVQA_ELASTICSEARCH_API_KEY or CONVQA_ELASTICSEARCH_PASSWORD, or name a file that holds it in "
            "CONVQA_ELASTICSEARCH_API_KEY_FILE or CONVQA_ELASTICSEARCH_PASSWORD_FILE."
        )
    record = read_as(Address, data, where, _WANTED)
    try:
        if record.language is not None:
            analyzer(record.language)
    except InputError as error:
        raise InputError(f"{where}: language: {error}") from error
    if bool(record.vector) != bool(record.encoder):
        raise InputError(
            f"{where}: wanted both, vector (the field of an index's vectors) and encoder (what made them)."
        )
    encoder = str(path.parent / record.encoder) if record.encoder.startswith("./") else record.encoder
    return record.model_copy(update={"url": _from(path.parent, record.url), "encoder": encoder})


def _from(folder: Path, url: str) -> str:
    """Return the URL; a folder that it names (``FOLDER`` or ``anserini:FOLDER``) is relative to that of its file."""
    scheme = SCHEME.match(url)
    if scheme is None:
        return str(folder / url)
    rest = url[scheme.end() :]
    return url if rest.startswith("//") else f"{scheme[0]}{folder / rest}"


def _secrets(data: object, place: str = "") -> Iterator[str]:
    """Where a file names something that nobody should write into a file."""
    if isinstance(data, dict):
        for name, value in data.items():
            here = f"{place}.{name}".removeprefix(".")
            if names_secret(str(name)):
                yield here
            yield from _secrets(value, here)


def redact(url: str) -> str:
    """Return a URL without user, password and the values of its query; a folder stays as it is.

    Redacts aggressively: a password may hold any character.

    >>> redact("elasticsearch://me:secret@host:9200/index?api_key=abc")
    'elasticsearch://***@host:9200/index?api_key=***'
    >>> redact("data/a=b?c=d@e")
    'data/a=b?c=d@e'
    """
    return _VALUE.sub(r"\1***", _USER.sub(r"\1***@", url).partition("#")[0]) if "://" in url else url
