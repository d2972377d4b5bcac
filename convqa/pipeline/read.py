"""A pipeline file as written: stations in a line, or a graph in Haystack's form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from convqa.components.base import STATIONS
from convqa.errors import InputError, errors_in, nearest
from convqa.pipeline.document import Graph
from convqa.places import is_yaml, shipped_yaml, yaml_file
from convqa.safe_yaml import read_yaml
from convqa.validation import UNKNOWN_FIELD, explain, refuse_secrets


class StationList(BaseModel, extra="forbid"):
    """A file with stations: each a member's name, or ``{type: its name, PARAMETER: VALUE, ...}``.

    With ``extends``, a station changes that of the other file (:mod:`convqa.pipeline.merge`). ``python_path``: folders
    of its modules, besides that of the file.
    """

    python_path: list[str] = []
    metadata: dict[str, Any] = {}
    extends: str | None = None
    stations: dict[str, dict[str, Any] | str | None] = {}


class GraphFile(Graph):
    """A file in Haystack's form. ``python_path``: as in :class:`StationList`."""

    python_path: list[str] = []


def shipped_pipelines() -> list[str]:
    """Return the names of the pipelines that ship with convqa."""
    return shipped_yaml("pipelines")


def find(name: str, folder: Path | str = "") -> Path:
    """Return the file of a pipeline, given a shipped name or a path, which may be relative to ``folder``.

    :raises InputError: if there is no such pipeline.
    """
    if not is_yaml(name):
        return yaml_file(name, "pipeline", "pipelines")
    for candidate in (Path(folder, name), Path(name)):
        if candidate.is_file():
            return candidate
    raise InputError(f"pipeline {name!r}: no such file. Shipped pipelines: {', '.join(shipped_pipelines())}.")


def read(file: Path) -> StationList | GraphFile:
    """Read and validate one pipeline file.

    :raises InputError: naming the file and the line or the field.
    """
    data = read_yaml(file, "pipeline")
    if not isinstance(data, dict):
        got = "nothing" if data is None else type(data).__name__
        raise InputError(f"pipeline {file}: expected a mapping with stations, got {got}.")
    form: type[StationList | GraphFile] = GraphFile if "components" in data else StationList
    with errors_in(f"pipeline {file}"):
        for name, value in data.items():
            refuse_secrets(value, str(name))
        try:
            content = form.model_validate(data)
        except ValidationError as error:
            mistakes = dict.fromkeys(_mistake(field, message, form) for field, message in explain(error))
            raise InputError(" ".join(mistakes)) from error
        for name in content.stations if isinstance(content, StationList) else ():
            if name not in STATIONS:
                known = ", ".join(STATIONS)
                raise InputError(f"stations.{name}: unknown station.{nearest(name, STATIONS)} Stations: {known}.")
    return content


def _mistake(field: str, message: str, form: type[BaseModel]) -> str:
    if "." in field or message != UNKNOWN_FIELD:
        return f"{field}: {message}."
    known = list(form.model_fields)
    if not field.isidentifier():  # not a pipeline, perhaps a file with secrets: its text is not repeated
        field = "a malformed key"
    return f"{field}: {message}.{nearest(field, known)} Expected some of {', '.join(known)}."
