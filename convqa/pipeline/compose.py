"""From a pipeline file and the user's settings to one resolved document: extends, override, drop, --set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from convqa.components.members import describe, give
from convqa.errors import InputError, nearest
from convqa.pipeline import nodes
from convqa.pipeline.document import Document, Node, find, read
from convqa.pipeline.drop import drop
from convqa.pipeline.llm import Llm, with_llm
from convqa.pipeline.nodes import type_of
from convqa.validation import names_secret, refuse_secrets, shorten

_DESCRIPTION = frozenset({"type", "init_parameters"})
"""The fields that describe a component that a parameter holds."""


def compose(pipeline: str | Path, settings: Mapping[str, Any] | None = None, llm: Llm | None = None) -> Document:
    """The resolved document of a pipeline: in order extends, override, drop, llm, settings; types as full paths.

    :param pipeline: a shipped name or a path.
    :param settings: ``node.param`` or ``node.type`` -> value, as ``override:`` and ``--set`` have them.
    :raises InputError: naming the file and the node.
    """
    file = find(str(pipeline))
    document = _extended(file, ())
    with _named(file):
        document = document if llm is None else with_llm(document, llm)
        named = {key: give(value) if isinstance(value, type) else value for key, value in (settings or {}).items()}
        for key, value in named.items():
            refuse_secrets(value, f"--set {key}", names_secret(key.rpartition(".")[2]))
        return _resolve_types(_set(document, named, "--set"))


def _extended(file: Path, above: tuple[Path, ...]) -> Document:
    """A file on top of the one that it extends, with its own override and drop applied."""
    here = file.resolve()
    if here in above:
        chain = " -> ".join(path.name for path in (*above, here))
        raise InputError(f"pipeline {file}: extends itself in a circle: {chain}.")
    own = read(file)
    with _named(file):
        extended = find(own.extends, beside=file) if own.extends else None
    base = _extended(extended, (*above, here)) if extended else Document()
    merged = Document(
        metadata={**base.metadata, **own.metadata},
        components={**base.components, **own.components},
        connections=[*base.connections, *own.connections],
        inputs={
            name: _union(base.inputs.get(name, []), own.inputs.get(name, [])) for name in [*base.inputs, *own.inputs]
        },
        outputs={**base.outputs, **own.outputs},
    )
    with _named(file):
        changed = _set(merged, own.override, "override")
        for name in own.drop:
            changed = drop(changed, name, own.drop)
    return changed


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """Put the file's name before what is wrong in its nodes."""
    try:
        yield
    except InputError as error:
        raise InputError(f"pipeline {file}: {error}") from error


def _union(first: Sequence[str], second: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))


def _set(document: Document, settings: Mapping[str, Any], where: str) -> Document:
    """Apply settings: ``node.param`` and ``node.type``, and of what a parameter holds ``node.param.init_parameters.x``.

    A new type starts from its own defaults.
    """
    components = {name: node.model_copy(deep=True) for name, node in document.components.items()}
    # What lies further out comes first, and a type before what is set in it.
    for key, value in sorted(settings.items(), key=lambda item: (item[0].count("."), not item[0].endswith(".type"))):
        name, dot, parameter = key.partition(".")
        if name in components and not parameter:
            raise InputError(f"{where} {key}: names no parameter; wanted is {name}.PARAMETER or {name}.type.")
        if name not in components or not dot:
            raise InputError(
                f"{where} {key}: there is no node {name!r}.{nearest(name, components)} "
                f"Nodes: {', '.join(components)}; wanted is NODE.PARAMETER or NODE.type."
            )
        if parameter != "type":
            _set_parameter(name, components[name], parameter.split("."), value, f"{where} {key}")
        elif not isinstance(value, str):
            raise InputError(f"{where} {key}: found {value!r}, wanted the name of a component.")
        elif type_of(name, value) != type_of(name, components[name].type):
            components[name] = Node(type=value)
    return document.model_copy(update={"components": components})


def _set_parameter(name: str, node: Node, keys: Sequence[str], value: Any, where: str) -> None:
    """Set a parameter of a node, or a part of one: a field of a mapping, a parameter of a component that it holds."""
    *outer, last = keys
    if "init_parameters" in keys[:1] or not all(keys):
        wanted = ".".join([name, *(key for key in keys[1:] if key)])
        raise InputError(f"{where}: wanted is a parameter behind the name of its node, such as {wanted}.")
    if outer and not isinstance(node.init_parameters.get(outer[0]), dict):
        # Not written, or a component by its short name: what is set is a part of the default, or of that component.
        made = nodes.make(name, Node(type=type_of(name, node.type), init_parameters=node.init_parameters))
        node.init_parameters |= {
            key: part for key, part in describe(made)["init_parameters"].items() if key == outer[0]
        }
    inside, path = node.init_parameters, name
    for key, following in zip(outer, keys[1:], strict=True):
        path, found = f"{path}.{key}", inside.get(key, {})
        if not isinstance(found, dict | None):
            raise InputError(f"{where}: {path} is {shorten(found)}, which has no part {following!r}.")
        inside[key] = inside = dict(found or {})  # a copy: an alias, or the caller, may hold the same mapping
        if "type" in inside and _DESCRIPTION.issuperset(inside):
            if following not in _DESCRIPTION:
                wanted = f"{path}.init_parameters.{last}"
                raise InputError(f"{where}: {path} is a component; wanted is {wanted} or {path}.type.")
            if following == last == "type" and inside["type"] != value:
                inside.clear()
    inside[last] = value


def _resolve_types(document: Document) -> Document:
    components = {
        name: Node(type=type_of(name, node.type), init_parameters=node.init_parameters)
        for name, node in document.components.items()
    }
    return document.model_copy(update={"components": components, "extends": None, "override": {}, "drop": []})
