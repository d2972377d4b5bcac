"""Removing a node from a pipeline, for ablations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from convqa.errors import InputError, nearest
from convqa.pipeline import nodes
from convqa.pipeline.document import Connection, Document


def drop(document: Document, name: str, others: Collection[str] = ()) -> Document:
    """Return a document without one node.

    Receivers of its output get its only input of the same type instead. If it has none, the connection is removed,
    provided that the receiver does not require it.

    :param others: nodes that are dropped as well, whose requirements do not count.
    :raises InputError: for an unknown node, or if another node requires its output.
    """
    if name not in document.components:
        known = ", ".join(document.components)
        raise InputError(f"drop {name}: unknown node.{nearest(name, document.components)} Nodes: {known}.")
    components = {key: nodes.make(key, nodes.resolved(key, node)) for key, node in document.components.items()}
    sources = _sources(document, name, components[name])
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
                _check_optional(components, arrow)
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
    """Return the sender to the only input of the same type for each output ``node.socket``, None if there is none.

    :raises InputError: if several nodes send to such an input, because it is ambiguous which replaces the node.
    """
    sources: dict[str, str | None] = {}
    for socket, output in nodes.outputs(component).items():
        receivers = {f"{name}.{key}" for key, value in nodes.inputs(component).items() if value.type == output.type}
        senders = [arrow.sender for arrow in document.connections if arrow.receiver in receivers]
        senders += [label for label, targets in document.inputs.items() if receivers & set(targets)]
        if len(senders) > 1:
            raise InputError(f"drop {name}: it has several inputs of one type, {' and '.join(senders)}.")
        sources[f"{name}.{socket}"] = senders[0] if senders else None
    return sources


def _check_optional(components: Mapping[str, Any], arrow: Connection) -> None:
    node, _, socket = arrow.receiver.partition(".")
    sockets = nodes.inputs(components[node]) if node in components else {}
    if socket in sockets and sockets[socket].is_mandatory:
        name, _, output = arrow.sender.partition(".")
        raise InputError(
            f"drop {name}: {arrow.receiver} requires its {output}, and {name} has no input of that type to replace it."
            f" Drop {node} too."
        )
