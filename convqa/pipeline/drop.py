"""Taking a node out of a pipeline, so that an ablation is one word."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from convqa.errors import InputError, nearest
from convqa.pipeline import nodes
from convqa.pipeline.document import Connection, Document, Node


def drop(document: Document, name: str, others: Collection[str] = ()) -> Document:
    """A document without one node.

    What the node sent is replaced by its one input of the same type; where it has none, it is left away if all that
    receive it can do without.

    :param others: nodes that are dropped as well, and need nothing any more.

    :raises InputError: if there is no such node, or something needs what it sends.
    """
    if name not in document.components:
        known = ", ".join(document.components)
        raise InputError(f"drop {name}: there is no such node.{nearest(name, document.components)} Nodes: {known}.")
    made = {
        key: nodes.make(key, Node(type=nodes.type_of(key, node.type), init_parameters=node.init_parameters))
        for key, node in document.components.items()
    }
    sources = _sources(document, name, made[name])
    inputs = {
        label: [socket for socket in sockets if _node(socket) != name] for label, sockets in document.inputs.items()
    }
    connections = []
    for arrow in document.connections:
        if _node(arrow.receiver) == name:
            continue
        if _node(arrow.sender) != name:
            connections.append(arrow)
            continue
        source = sources.get(arrow.sender)
        if source is None:
            if _node(arrow.receiver) not in others:
                _check_optional(made, arrow)
        elif source in inputs:
            inputs[source].append(arrow.receiver)
        else:
            connections.append(Connection(sender=source, receiver=arrow.receiver))
    outputs = {label: sources.get(sender, sender) for label, sender in document.outputs.items()}
    return document.model_copy(
        update={
            "components": {key: node for key, node in document.components.items() if key != name},
            "connections": connections,
            "inputs": inputs,
            "outputs": {label: sender for label, sender in outputs.items() if sender and sender not in inputs},
        }
    )


def _node(socket: str) -> str:
    return socket.partition(".")[0]


def _sources(document: Document, name: str, component: Any) -> dict[str, str | None]:
    """For each output ``node.socket`` of the node, who feeds its one input of that type; None if nobody does.

    :raises InputError: if several do, because nothing says which of them takes the node's place.
    """
    sources: dict[str, str | None] = {}
    for socket, output in nodes.outputs(component).items():
        wanted = {f"{name}.{key}" for key, value in nodes.inputs(component).items() if value.type == output.type}
        feeding = [arrow.sender for arrow in document.connections if arrow.receiver in wanted]
        feeding += [label for label, targets in document.inputs.items() if wanted & set(targets)]
        if len(feeding) > 1:
            raise InputError(
                f"drop {name}: {' and '.join(feeding)} go into it, and nothing says which takes its place."
            )
        sources[f"{name}.{socket}"] = feeding[0] if feeding else None
    return sources


def _check_optional(made: Mapping[str, Any], arrow: Connection) -> None:
    node, _, socket = arrow.receiver.partition(".")
    sockets = nodes.inputs(made[node]) if node in made else {}
    if socket in sockets and sockets[socket].is_mandatory:
        name, _, what = arrow.sender.partition(".")
        raise InputError(
            f"drop {name}: {arrow.receiver} needs its {what}, and nothing of that kind goes into {name}."
            f" Drop {node} too."
        )
