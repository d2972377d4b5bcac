"""From a pipeline file and the user's settings to one resolved document: extends, override, drop, --set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from convqa.errors import InputError, nearest
from convqa.pipeline.document import Document, Node, find, read
from convqa.pipeline.drop import drop
from convqa.pipeline.nodes import type_of
from convqa.validation import names_secret, refuse_secrets


def compose(pipeline: str | Path, settings: Mapping[str, Any] | None = None) -> Document:
    """The resolved document of a pipeline: in order extends, override, drop, settings; types as full paths.

    :param pipeline: a shipped name or a path.
    :param settings: ``node.param`` or ``node.type`` -> value, as ``override:`` and ``--set`` have them.
    :raises InputError: naming the file and the node.
    """
    file = find(str(pipeline))
    document = _extended(file, ())
    with _named(file):
        for key, value in (settings or {}).items():
            refuse_secrets(value, f"--set {key}", names_secret(key.rpartition(".")[2]))
        return _resolve_types(_set(document, settings or {}, "--set"))


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
    """Apply ``node.param`` and ``node.type`` settings. A new type starts from its own defaults."""
    components = {name: node.model_copy(deep=True) for name, node in document.components.items()}
    for key, value in sorted(settings.items(), key=lambda item: not item[0].endswith(".type")):
        name, dot, parameter = key.partition(".")
        if name in components and not parameter:
            raise InputError(f"{where} {key}: names no parameter; wanted is {name}.PARAMETER or {name}.type.")
        if name not in components or not dot:
            raise InputError(
                f"{where} {key}: there is no node {name!r}.{nearest(name, components)} "
                f"Nodes: {', '.join(components)}; wanted is NODE.PARAMETER or NODE.type."
            )
        if parameter != "type":
            components[name].init_parameters[parameter] = value
        elif not isinstance(value, str):
            raise InputError(f"{where} {key}: found {value!r}, wanted the name of a component.")
        elif type_of(name, value) != type_of(name, components[name].type):
            components[name] = Node(type=value)
    return document.model_copy(update={"components": components})


def _resolve_types(document: Document) -> Document:
    components = {
        name: Node(type=type_of(name, node.type), init_parameters=node.init_parameters)
        for name, node in document.components.items()
    }
    return document.model_copy(update={"components": components, "extends": None, "override": {}, "drop": []})
