"""Where a collection is, and what a file of ``configs/collections`` says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from convqa.errors import InputError
from convqa.places import shipped
from convqa.validation import explain

_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Fields:
    """Where an index that others filled keeps its passages: names of its fields, "" for none.

    ``id`` "" is the engine's own id of a document. ``meta``: fields that become ``Passage.meta``.
    """

    text: str
    id: str = ""
    title: str = ""
    url: str = ""
    meta: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Address:
    """A collection's URL. ``fields`` and ``language`` are told for an index that others filled; ``settings`` are the
    engine's, for making it."""

    url: str
    fields: Fields | None = None
    language: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict, hash=False)


class _Fields(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    text: str = Field(min_length=1)
    id: str = ""
    title: str = ""
    url: str = ""
    meta: list[str] = []


class _Record(BaseModel):
    """A file of ``configs/collections``."""

    model_config = ConfigDict(strict=True, extra="forbid")

    url: str = Field(min_length=1)
    fields: _Fields | None = None
    language: str | None = None
    settings: dict[str, int | float | str | bool] = {}


def address(name: str) -> Address:
    """A URL or folder as it stands, a YAML file, or the name of a shipped one where nothing else has the name.

    :raises InputError: if the file is missing or has a mistake.
    """
    if name.endswith(_SUFFIXES):
        return _read(Path(name))
    file = shipped("configs", "collections", f"{name}.yaml")
    if "/" not in name and ":" not in name and not Path(name).exists() and file.is_file():
        return _read(file)
    return Address(name)


def shipped_names() -> list[str]:
    """The names of the files in ``configs/collections``."""
    return sorted(path.stem for path in shipped("configs", "collections").glob("*.yaml"))


def _read(path: Path) -> Address:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"collection file {path} cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise InputError(f"collection file {path} is not YAML: {error}") from error
    if not isinstance(data, dict):
        raise InputError(f"collection file {path}: wanted: url, and if needed fields, language and settings.")
    try:
        record = _Record.model_validate(data)
    except ValidationError as error:
        place, message = explain(error)[0]
        raise InputError(f"collection file {path}: {place}: {message}.") from error
    url = record.url if ":" in record.url else str(path.parent / record.url)
    fields = None if record.fields is None else _fields(record.fields)
    return Address(url, fields, record.language, record.settings)


def _fields(found: _Fields) -> Fields:
    return Fields(found.text, found.id, found.title, found.url, tuple(found.meta))
