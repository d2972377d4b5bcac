"""What can be downloaded of a benchmark: its files with their addresses and MD5 sums, as a YAML file tells them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from convqa.errors import InputError, nearest
from convqa.files import read_yaml
from convqa.places import shipped
from convqa.validation import explain

_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Download:
    """A file to fetch: ``url``, the name that it gets, its MD5 sum in hexadecimal, and how many questions it has."""

    name: str
    file: str
    url: str
    md5: str
    examples: int


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    file: str = Field(pattern=r"^\w[\w.-]*$")
    url: str = Field(pattern=r"^https?://")
    md5: str = Field(pattern=r"^[0-9a-f]{32}$")
    examples: int = Field(ge=0)


_Parts = TypeAdapter(dict[str, Annotated[dict[str, _Record], Field(min_length=1)]])


def downloads(what: str, part: str, only: list[str] | None = None) -> list[Download]:
    """The files of a part (``train``) of a benchmark.

    :param what: the name of a shipped file of ``configs/downloads``, or the path of one of your own (a mirror).
    :param only: names of the sets that are wanted; None: all.
    :raises InputError: if there is no such file, part or set, or the file has a mistake.
    """
    parts = _read(what)
    if part not in parts:
        raise InputError(f"{what}: there is no part {part!r}; wanted: {', '.join(parts)}.{nearest(part, parts)}")
    sets = parts[part]
    for name in only or ():
        if name not in sets:
            raise InputError(f"--only {name}: {part} has no such set; wanted: {', '.join(sets)}.{nearest(name, sets)}")
    return [
        Download(name, record.file, record.url, record.md5, record.examples)
        for name, record in sets.items()
        if not only or name in only
    ]


def shipped_names() -> list[str]:
    """The names of the files in ``configs/downloads``."""
    return sorted(path.stem for path in shipped("configs", "downloads").glob("*.yaml"))


def _read(what: str) -> dict[str, dict[str, _Record]]:
    path = Path(what) if what.endswith(_SUFFIXES) else shipped("configs", "downloads", f"{what}.yaml")
    if not what.endswith(_SUFFIXES) and what not in (names := shipped_names()):
        raise InputError(f"{what}: there is nothing of this name; wanted: {', '.join(names)}.{nearest(what, names)}")
    try:
        return _Parts.validate_python(read_yaml(path, "list of downloads"))
    except ValidationError as error:
        problems = "; ".join(f"{field or 'the file'}: {message}" for field, message in explain(error))
        raise InputError(f"{path}: {problems}. Wanted: part, set, and file, url, md5 and examples of each.") from error
