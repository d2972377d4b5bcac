"""A resolved pipeline: its stations with full paths as types, and how they are connected."""

from __future__ import annotations

import graphlib
import inspect
from collections.abc import Mapping
from operator import itemgetter
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, Field

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


Socket = Annotated[str, Field(pattern=r"^[^.]+\.[^.]+$")]
"""``node.socket``. The socket is required, although Haystack could guess it, so that readers need not."""


class Connection(BaseModel, extra="forbid"):
    """An arrow from ``node.socket`` to ``node.socket``."""

    sender: Socket
    receiver: Socket


def node_of(socket: str) -> str:
    """Return the node in ``node.socket``."""
    return socket.partition(".")[0]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Graph(BaseModel, extra="forbid"):
    """A pipeline in Haystack's form, with ``inputs`` and ``outputs`` for turns, rewrites, rankings and so on."""

    metadata: dict[str, Any] = {}
    components: dict[str, Node]
    connections: list[Connection] = []
    inputs: dict[str, Annotated[list[str], BeforeValidator(_listed)]] = {}
    outputs: dict[str, str] = {}


class PipelineDocument(Graph):
    """A resolved pipeline.

    ``is_line``: whether it is written as ``stations:``. ``modules``: modules of the user's that it may load.
    """

    is_line: bool = False
    modules: list[str] = []

    def in_order(self) -> list[str]:
        """Return the nodes in topological order.

        :raises graphlib.CycleError: if the connections form a cycle.
        """
        sorter = graphlib.TopologicalSorter(dict.fromkeys(sorted(self.components), ()))
        for arrow in self.connections:
            sorter.add(node_of(arrow.receiver), node_of(arrow.sender))
        return list(sorter.static_order())

    def to_yaml(self) -> str:
        """Return the pipeline in the form in which it was written."""
        if not self.is_line:
            return self.to_haystack()
        data = {
            "metadata": self.metadata,
            "stations": {name: node.flat() for name, node in self.components.items()},
        }
        return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)

    def to_haystack(self) -> str:
        """Return the pipeline in Haystack's form, with sorted nodes and connections."""
        data = self.model_dump(include={*Graph.model_fields})
        data["components"] = {name: _nested(node.flat()) for name, node in self.components.items()}
        data["connections"].sort(key=itemgetter("receiver", "sender"))
        for sockets in data["inputs"].values():
            sockets.sort()
        return yaml.safe_dump(data, sort_keys=True, allow_unicode=True, width=120)


def line(metadata: Mapping[str, Any], stations: Mapping[str, Node]) -> PipelineDocument:
    """Return the pipeline of stations in a line.

    Each station takes the turns, and its other inputs from the last station before it that makes them.

    :raises InputError: if no station before it makes a required input.
    """
    senders: dict[str, str] = {}
    arrows = []
    ordered = {name: stations[name] for name in STATIONS if name in stations}
    for name in ordered:
        station = STATIONS[name]
        for label, parameter in inspect.signature(station.run).parameters.items():  # type: ignore[attr-defined]
            if label in senders:
                arrows.append(Connection(sender=senders[label], receiver=f"{name}.{label}"))
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
        connections=arrows,
        inputs={"turns": [f"{name}.turns" for name in ordered]},
        outputs=senders,
        is_line=True,
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
