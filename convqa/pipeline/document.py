"""A resolved pipeline: its stations with full paths as types, and how they are connected."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import BaseModel

from convqa.components.base import STATIONS
from convqa.errors import InputError


class Node(BaseModel, extra="forbid"):
    """One component: its type (a dotted path, or the short name of a station's member) and its parameters."""

    type: str
    init_parameters: dict[str, Any] = {}

    def flat(self) -> dict[str, Any]:
        """Return the node as in ``stations:``."""
        return {"type": self.type, **self.init_parameters}

    def having(self, **parameters: Any) -> Node:
        """Return the node with these parameters added or replaced."""
        return Node(type=self.type, init_parameters=self.init_parameters | parameters)


class PipelineDocument(BaseModel, extra="forbid"):
    """A resolved pipeline.

    ``connections``: (sender, receiver), each ``station.socket``. ``outputs``: the label of each output, such as
    ``answers``, and the socket that sends it. ``modules``: modules of the user's that it may load.
    """

    metadata: dict[str, Any] = {}
    components: dict[str, Node]
    connections: list[tuple[str, str]] = []
    outputs: dict[str, str] = {}
    modules: list[str] = []

    def to_yaml(self) -> str:
        """Return the pipeline as it is written, with ``stations:``."""
        data = {
            "metadata": self.metadata,
            "stations": {name: node.flat() for name, node in self.components.items()},
        }
        return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)

    def to_haystack(self) -> str:
        """Return the pipeline in the form that Haystack's loader reads."""
        data = {
            "metadata": self.metadata,
            "components": {name: _nested(node.flat()) for name, node in self.components.items()},
            "connections": [{"sender": sender, "receiver": receiver} for sender, receiver in self.connections],
            "inputs": {"turns": [f"{name}.turns" for name in self.components]},
            "outputs": self.outputs,
        }
        return yaml.safe_dump(data, sort_keys=True, allow_unicode=True, width=120)


def line(metadata: Mapping[str, Any], stations: Mapping[str, Node]) -> PipelineDocument:
    """Return the pipeline of stations in a line.

    Each station takes the turns, and its other inputs from the last station before it that makes them.

    :raises InputError: if no station before it makes a required input.
    """
    senders: dict[str, str] = {}
    connections = []
    ordered = {name: stations[name] for name in STATIONS if name in stations}
    for name in ordered:
        station = STATIONS[name]
        for label, parameter in inspect.signature(station.run).parameters.items():  # type: ignore[attr-defined]
            if label in senders:
                connections.append((senders[label], f"{name}.{label}"))
            elif label not in {"self", "turns"} and parameter.default is parameter.empty:
                maker = next(other for other, base in STATIONS.items() if base.makes == label)
                raise InputError(
                    f"stations.{name}: requires {label}, which no station before it makes. Add a {maker}, or remove "
                    f"the {name} too ({name}: null, or --set {name}=null)."
                )
        senders[station.makes] = f"{name}.{station.makes}"
    return PipelineDocument(
        metadata=dict(metadata),
        components=ordered,
        connections=connections,
        outputs=senders,
    )


def _nested(value: Any) -> Any:
    """Return a value with all descriptions of components in Haystack's form, ``{type, init_parameters}``."""
    if isinstance(value, list):
        return [_nested(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {name: _nested(item) for name, item in value.items()}
    if "." not in str(inner.get("type")) or "init_parameters" in inner:
        return inner
    return {"type": inner.pop("type"), "init_parameters": inner}
