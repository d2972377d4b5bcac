"""A pipeline file as written: Haystack's YAML plus ``extends``, ``override``, ``drop``, ``inputs`` and ``outputs``."""

from __future__ import annotations

import graphlib
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from convqa.errors import InputError, nearest
from convqa.places import is_yaml, shipped_yaml, yaml_file
from convqa.safe_yaml import read_yaml
from convqa.validation import UNKNOWN_FIELD, explain, refuse_secrets


class Node(BaseModel, extra="forbid"):
    """One component: its type (dotted path, or the short name of a station's member) and its parameters."""

    type: str
    init_parameters: dict[str, Any] = {}


Socket = Annotated[str, Field(pattern=r"^[^.]+\.[^.]+$")]
"""``node.socket``. The socket is required, although Haystack could guess it, so that readers need not."""


class Connection(BaseModel, extra="forbid"):
    """An arrow from ``node.socket`` to ``node.socket``."""

    sender: Socket
    receiver: Socket


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Document(BaseModel, extra="forbid"):
    """A pipeline file; after composing, ``extends``, ``override`` and ``drop`` are empty."""

    metadata: dict[str, Any] = {}
    extends: str | None = None
    override: dict[str, Any] = {}
    drop: Annotated[list[str], BeforeValidator(_listed)] = []
    components: dict[str, Node] = {}
    connections: list[Connection] = []
    inputs: dict[str, Annotated[list[str], BeforeValidator(_listed)]] = {}
    outputs: dict[str, str] = {}

    def in_order(self) -> list[str]:
        """Return the nodes in topological order.

        :raises graphlib.CycleError: if the connections form a cycle.
        """
        before: dict[str, set[str]] = {name: set() for name in sorted(self.components)}
        for arrow in self.connections:
            before[arrow.receiver.partition(".")[0]].add(arrow.sender.partition(".")[0])
        return list(graphlib.TopologicalSorter(before).static_order())

    def to_yaml(self) -> str:
        """Return the resolved pipeline, with sorted nodes and connections so that equal pipelines have equal text."""
        data = self.model_dump(include={"metadata", "components", "connections", "inputs", "outputs"})
        data["connections"] = sorted(data["connections"], key=lambda arrow: (arrow["receiver"], arrow["sender"]))
        data["inputs"] = {name: sorted(sockets) for name, sockets in data["inputs"].items()}
        return yaml.safe_dump(data, sort_keys=True, allow_unicode=True, width=120)


def shipped_pipelines() -> list[str]:
    """Return the names of the pipelines that ship with convqa."""
    return shipped_yaml("pipelines")


def find(name: str, file: Path | None = None) -> Path:
    """Return the file of a pipeline, given a shipped name or a path, which may be relative to ``file``.

    :raises InputError: if there is no such pipeline.
    """
    if not is_yaml(name):
        return yaml_file(name, "pipeline", "pipelines")
    for candidate in [Path(name)] if file is None else [file.parent / name, Path(name)]:
        if candidate.is_file():
            return candidate
    raise InputError(f"pipeline {name!r}: no such file. Shipped pipelines: {', '.join(shipped_pipelines())}.")


def read(file: Path) -> Document:
    """Read and validate one pipeline file.

    :raises InputError: naming the file and the line or the field.
    """
    data = read_yaml(file, "pipeline")
    if not isinstance(data, dict):
        got = "nothing" if data is None else type(data).__name__
        expected = "a mapping with components, connections, inputs and outputs"
        raise InputError(f"pipeline {file}: expected {expected}, got {got}.")
    try:
        for name, value in data.items():
            refuse_secrets(value, str(name))
        return Document.model_validate(data)
    except InputError as error:
        raise InputError(f"pipeline {file}: {error}") from error
    except ValidationError as error:
        mistakes = dict.fromkeys(_mistake(*mistake) for mistake in explain(error))
        raise InputError(f"pipeline {file}: {' '.join(mistakes)}") from error


def _mistake(field: str, message: str) -> str:
    if "." in field or message != UNKNOWN_FIELD:
        return f"{field}: {message}."
    known = list(Document.model_fields)
    if not field.isidentifier():  # not a pipeline, perhaps a file with secrets: its text is not repeated
        field = "a malformed key"
    return f"{field}: {message}.{nearest(field, known)} Expected some of {', '.join(known)}."
