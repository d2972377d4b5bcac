"""A pipeline file as written: Haystack's YAML plus ``extends``, ``override``, ``drop``, ``inputs`` and ``outputs``."""

from __future__ import annotations

import graphlib
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from convqa.errors import InputError, nearest
from convqa.places import shipped
from convqa.safe_yaml import read_yaml
from convqa.validation import explain, refuse_secrets


class Node(BaseModel, extra="forbid"):
    """One component: its type (dotted path, or the short name of a station's member) and its parameters."""

    type: str
    init_parameters: dict[str, Any] = {}


Socket = Annotated[str, Field(pattern=r"^[^.]+\.[^.]+$")]
"""``node.socket``, written out: Haystack would guess the socket, and readers of the file would have to."""


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
        """Return the nodes in the order of their work.

        :raises graphlib.CycleError: if the connections go in a circle.
        """
        before: dict[str, set[str]] = {name: set() for name in sorted(self.components)}
        for arrow in self.connections:
            before[arrow.receiver.partition(".")[0]].add(arrow.sender.partition(".")[0])
        return list(graphlib.TopologicalSorter(before).static_order())

    def to_yaml(self) -> str:
        """The resolved pipeline, with sorted nodes and arrows so that equal pipelines give equal text."""
        data = self.model_dump(include={"metadata", "components", "connections", "inputs", "outputs"})
        data["connections"] = sorted(data["connections"], key=lambda arrow: (arrow["receiver"], arrow["sender"]))
        data["inputs"] = {name: sorted(sockets) for name, sockets in data["inputs"].items()}
        return yaml.safe_dump(data, sort_keys=True, allow_unicode=True, width=120)


_SUFFIXES = (".yaml", ".yml")


def shipped_pipelines() -> list[str]:
    """Names of the pipelines that ship with convqa."""
    return sorted(path.stem for path in shipped("pipelines").glob("*.yaml"))


def find(name: str, beside: Path | None = None) -> Path:
    """The file of a pipeline: a shipped name, or a path (also relative to the file that extends it).

    :raises InputError: if there is neither.
    """
    candidates = [Path(name)] if beside is None else [beside.parent / name, Path(name)]
    if Path(name).suffix not in _SUFFIXES and "/" in name:
        raise InputError(f"pipeline {name!r}: a file is wanted whose name ends in {' or '.join(_SUFFIXES)}.")
    if Path(name).suffix in _SUFFIXES:
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        raise InputError(f"pipeline {name!r}: no such file. Shipped pipelines: {', '.join(shipped_pipelines())}.")
    file = shipped("pipelines", f"{name}.yaml")
    if not file.is_file():
        known = shipped_pipelines()
        raise InputError(
            f"pipeline {name!r} does not exist.{nearest(name, known)} Shipped pipelines: {', '.join(known)}; "
            "a file of your own is given by its path, ending in .yaml."
        )
    return file


def read(file: Path) -> Document:
    """One pipeline file, its form checked.

    :raises InputError: naming the file and the line or the field.
    """
    data = read_yaml(file, "pipeline")
    if not isinstance(data, dict):
        wanted = "a mapping with components, connections, inputs and outputs is wanted"
        raise InputError(f"pipeline {file}: found {'nothing' if data is None else type(data).__name__}; {wanted}.")
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
    if field.count(".") or "not known" not in message:
        return f"{field} {message}."
    known = list(Document.model_fields)
    if not field.isidentifier():  # the file may not be what somebody took it for: its text is not repeated
        field = "a key that is no name"
    return f"{field} {message}.{nearest(field, known)} Known are {', '.join(known)}."
