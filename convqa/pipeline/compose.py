"""Composing a resolved pipeline from a file and the user's settings: extends, override, drop, --set."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from convqa.components.members import describe, give
from convqa.errors import InputError, nearest
from convqa.pipeline import nodes
from convqa.pipeline.document import Connection, Document, Node, find, read
from convqa.pipeline.llm import Llm, with_llm
from convqa.pipeline.nodes import type_of
from convqa.validation import names_secret, refuse_secrets, shorten

_DESCRIPTION = frozenset({"type", "init_parameters"})
"""The fields of a nested component, the value of a parameter."""


def compose(pipeline: str | Path, settings: Mapping[str, Any] | None = None, llm: Llm | None = None) -> Document:
    """Return a pipeline's resolved document, with full paths as types.

    Applies, in this order: extends, override, drop, llm, settings.

    :param pipeline: a shipped name or a path.
    :param settings: ``node.param`` or ``node.type`` -> value, as in ``override:`` and ``--set``.
    :raises InputError: naming the file and the node.
    """
    file = find(str(pipeline))
    document = _extend(file, ())
    with _errors_of(file):
        document = document if llm is None else with_llm(document, llm)
        changes = {key: give(value) if isinstance(value, type) else value for key, value in (settings or {}).items()}
        for key, value in changes.items():
            refuse_secrets(value, f"--set {key}", names_secret(key.rpartition(".")[2]))
        return _resolve_types(_set(document, changes, "--set"))


def _extend(file: Path, descendants: tuple[Path, ...]) -> Document:
    """Return a file merged into the one it extends, with its override and drop applied."""
    here = file.resolve()
    if here in descendants:
        chain = " -> ".join(path.name for path in (*descendants, here))
        raise InputError(f"pipeline {file}: extends itself: {chain}.")
    own = read(file)
    with _errors_of(file):
        extended = find(own.extends, file) if own.extends else None
    base = _extend(extended, (*descendants, here)) if extended else Document()
    merged = Document(
        metadata={**base.metadata, **own.metadata},
        components={**base.components, **own.components},
        connections=[*base.connections, *own.connections],
        inputs={
            name: list(dict.fromkeys([*base.inputs.get(name, []), *own.inputs.get(name, [])]))
            for name in [*base.inputs, *own.inputs]
        },
        outputs={**base.outputs, **own.outputs},
    )
    with _errors_of(file):
        changed = _set(merged, own.override, "override")
        for name in own.drop:
            changed = drop(changed, name, own.drop)
    return changed


@contextmanager
def _errors_of(file: Path) -> Iterator[None]:
    """Prefix errors with the file's name."""
    try:
        yield
    except InputError as error:
        raise InputError(f"pipeline {file}: {error}") from error


def _set(document: Document, settings: Mapping[str, Any], where: str) -> Document:
    """Apply settings: ``node.param``, ``node.type`` and, in nested components, ``node.param.init_parameters.x``.

    A node with a new type starts from that type's defaults.
    """
    components = {name: node.model_copy(deep=True) for name, node in document.components.items()}
    # Outer settings first, and a type before the parameters of its component.
    for key, value in sorted(settings.items(), key=lambda item: (item[0].count("."), not item[0].endswith(".type"))):
        name, dot, parameter = key.partition(".")
        if name in components and not parameter:
            raise InputError(f"{where} {key}: missing parameter; expected {name}.PARAMETER or {name}.type.")
        if name not in components or not dot:
            raise InputError(
                f"{where} {key}: unknown node {name!r}.{nearest(name, components)} "
                f"Nodes: {', '.join(components)}; expected NODE.PARAMETER or NODE.type."
            )
        if parameter != "type":
            _set_parameter(name, components[name], parameter.split("."), value, f"{where} {key}")
        elif not isinstance(value, str):
            raise InputError(f"{where} {key}: expected the name of a component, got {value!r}.")
        elif type_of(name, value) != type_of(name, components[name].type):
            components[name] = Node(type=value)
    return document.model_copy(update={"components": components})


def _set_parameter(name: str, node: Node, keys: Sequence[str], value: Any, where: str) -> None:
    """Set a parameter of a node, or a part of one: a field of a mapping, or a parameter of a nested component."""
    *outer, last = keys
    if "init_parameters" in keys[:1] or not all(keys):
        example = ".".join([name, *(key for key in keys[1:] if key)])
        raise InputError(f"{where}: expected the node's name followed by a parameter, such as {example}.")
    if outer and not isinstance(node.init_parameters.get(outer[0]), dict):
        # Missing, or the short name of a component: start from the default or from that component.
        parameters = describe(nodes.make(name, nodes.resolved(name, node)))["init_parameters"]
        node.init_parameters |= {key: part for key, part in parameters.items() if key == outer[0]}
    inner, path = node.init_parameters, name
    for key, following in zip(outer, keys[1:], strict=True):
        path, part = f"{path}.{key}", inner.get(key, {})
        if not isinstance(part, dict | None):
            raise InputError(f"{where}: {path} is {shorten(part)}, which has no part {following!r}.")
        inner[key] = inner = dict(part or {})  # a copy, because YAML aliases or the caller may share the mapping
        if "type" in inner and _DESCRIPTION.issuperset(inner):
            if following not in _DESCRIPTION:
                expected = f"{path}.init_parameters.{last}"
                raise InputError(f"{where}: {path} is a component; expected {expected} or {path}.type.")
            if following == last == "type" and inner["type"] != value:
                inner.clear()
    inner[last] = value


def _resolve_types(document: Document) -> Document:
    components = {name: nodes.resolved(name, node) for name, node in document.components.items()}
    return document.model_copy(update={"components": components, "extends": None, "override": {}, "drop": []})


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
    """Return the sender to the only input of the same type for each output ``node.socket``, or None.

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
