"""Resolves a pipeline: a file is merged with the one it extends, a language model and the user's settings."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from convqa.components.base import STATIONS
from convqa.components.members import allow, described, full_name, give
from convqa.errors import InputError, errors_in, nearest
from convqa.pipeline.document import Node, PipelineDocument, line
from convqa.pipeline.llm import Llm, with_llm
from convqa.pipeline.read import StationList, find, read
from convqa.places import is_yaml
from convqa.validation import leaves, names_secret, refuse_secrets, shorten

_TRUSTED = frozenset({"convqa", "haystack", "haystack_integrations"})
"""Packages whose components every pipeline may name. The modules of Python itself are never components."""


def resolve(
    pipeline: str | Path, settings: Mapping[str, Any] | None = None, llm: Llm | None = None, *, trusted: bool = True
) -> PipelineDocument:
    """Return a pipeline with extends, the language model and the settings applied, in this order.

    :param pipeline: a shipped name or a path.
    :param settings: as ``--set``: ``station.parameter``, ``station.type`` or ``station`` -> value.
    :param trusted: whether a file, given by its path, may load the modules that it and the settings name.
    :raises InputError: naming the file and the station.
    """
    file = find(str(pipeline))
    content = read(file)
    with errors_in(f"pipeline {file}"):
        changes = {}
        for key, value in (settings or {}).items():
            refuse_secrets(value, f"--set {key}", names_secret(key.rpartition(".")[2]))
            changes[key] = give(value) if isinstance(value, type) else value
        if isinstance(content, StationList):
            metadata, nodes = _extended(content, file)
        else:
            nodes = {name: _with_full_name(name, node) for name, node in content.components.items()}
        modules: list[str] = []
        if trusted and is_yaml(str(pipeline)):
            given = [node.flat() for node in nodes.values()]
            modules = _foreign_modules([given, changes])
            allow(modules)
            parent = file.resolve().parent
            for folder in (parent, *(parent / other for other in content.python_path)):
                if modules and str(folder) not in sys.path:
                    # At the end, so that no file there takes the place of an installed package.
                    sys.path.append(str(folder))
        if llm is not None:
            nodes = with_llm(nodes, llm)
        nodes = _with_settings(nodes, changes, isinstance(content, StationList))
        if isinstance(content, StationList):
            document = line(metadata, nodes)
        else:
            document = PipelineDocument(**content.model_dump(exclude={"components", "python_path"}), components=nodes)
    return document.model_copy(update={"modules": modules})


def _extended(content: StationList, file: Path) -> tuple[dict[str, Any], dict[str, Node]]:
    """Return the metadata and the stations of a file, merged into those of the file it extends.

    :raises InputError: if that file extends another one.
    """
    metadata: dict[str, Any] = {}
    nodes: dict[str, Node] = {}
    if content.extends is not None:
        base_file = find(content.extends, file.parent)
        base = read(base_file)
        if not isinstance(base, StationList) or base.extends is not None:
            trouble = "itself extends a file" if isinstance(base, StationList) else "has no stations"
            raise InputError(f"extends: {content.extends} {trouble}; expected a file with all its stations.")
        with errors_in(f"pipeline {base_file}"):
            metadata, nodes = _extended(base, base_file)
    for name, entry in content.stations.items():
        nodes = _with_entry(nodes, name, entry, f"stations.{name}")
    return {**metadata, **content.metadata}, nodes


def _with_entry(
    nodes: Mapping[str, Node],
    name: str,
    entry: Any,
    where: str,
) -> dict[str, Node]:
    """Return the nodes with one changed.

    :param entry: None removes it; with another type it is replaced; otherwise the parameters are merged.
    """
    changed = dict(nodes)
    if entry is None:
        changed.pop(name, None)
        return changed
    old = changed.get(name)
    if isinstance(entry, Mapping) and "type" not in entry and old is not None:
        entry = {"type": old.type, **entry}
    type_name, parameters = described(entry, where, "{type: NAME, PARAMETER: VALUE, ...}, a name or null")
    node = _with_full_name(name, Node(type=type_name, init_parameters=parameters))
    if old is not None and old.type == node.type:
        node.init_parameters = _merged(old.init_parameters, parameters)
    changed[name] = node
    return changed


def _merged(old: Any, new: Any) -> Any:
    """Merge mappings key by key, unless the new one has another type. Any other new value replaces the old one."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return new
    if "type" in new and new["type"] != old.get("type"):
        return new
    merged = dict(old)
    for name, value in new.items():
        merged[name] = _merged(old.get(name), value)
    return merged


def _with_full_name(name: str, node: Node) -> Node:
    """Return a node with the dotted path of its type. A short name is one of the station that the node's name names.

    :raises InputError: for an unknown or ambiguous short name.
    """
    stations = [station for station in STATIONS if station in name] or list(STATIONS)
    return Node(type=full_name(node.type, name, stations), init_parameters=node.init_parameters)


def _with_settings(
    nodes: Mapping[str, Node],
    settings: Mapping[str, Any],
    is_line: bool,
) -> dict[str, Node]:
    """Return the nodes with settings applied: outer ones first, and a type before the parameters of its component."""
    changed = dict(nodes)
    for key in sorted(settings, key=lambda key: (key.count("."), not key.endswith(".type"))):
        value = settings[key]
        where = f"--set {key}"
        name, _, path = key.partition(".")
        known = STATIONS if is_line and path in {"", "type"} else changed
        if name not in known:
            raise InputError(
                f"{where}: unknown station {name!r}.{nearest(name, known)} Stations: {', '.join(known)}; expected "
                "STATION.PARAMETER, STATION.type or STATION."
            )
        if value is None and not path and not is_line:
            raise InputError(f"{where}: remove {name} and its connections in the file.")
        if path in {"", "type"}:
            changed = _with_entry(changed, name, {"type": value} if path else value, where)
        else:
            changed[name] = _with_parameter(name, changed[name], path.split("."), value, where)
    return changed


def _with_parameter(
    name: str,
    node: Node,
    keys: Sequence[str],
    value: Any,
    where: str,
) -> Node:
    """Return a node with a parameter, or a part of one: a field of a mapping, or a parameter of a nested component."""
    if keys[0] == "init_parameters" or not all(keys):
        raise InputError(f"{where}: expected the station's name followed by a parameter, such as {name}.{keys[-1]}.")
    parameters = dict(node.init_parameters)
    inner, path = parameters, name
    for key, following in itertools.pairwise(keys):
        path = f"{path}.{key}"
        part = inner.get(key)
        if isinstance(part, str):  # the name of a member
            part = {"type": part}
        if not isinstance(part, dict | None):
            raise InputError(f"{where}: {path} is {shorten(part)}, which has no part {following!r}.")
        if part and part.keys() == {"type", "init_parameters"} and following not in part:
            raise InputError(
                f"{where}: {path} is a component; expected {path}.init_parameters.{following} or {path}.type."
            )
        # A copy, because YAML aliases or the caller may share the mapping.
        inner[key] = dict(part or {})
        inner = inner[key]
    if len(keys) > 1 and keys[-1] == "type" and inner.get("type") != value:
        inner.clear()
    inner[keys[-1]] = value
    return Node(type=node.type, init_parameters=parameters)


def _foreign_modules(value: object) -> list[str]:
    """Return the modules of the types in a value that belong neither to convqa, Haystack nor Python."""
    trusted = {"", *_TRUSTED, *sys.stdlib_module_names}
    modules = set()
    for key, type_name in leaves(value):
        if isinstance(type_name, str) and key.rpartition(".")[2] == "type":
            module = type_name.rpartition(".")[0]
            if module.partition(".")[0] not in trusted:
                modules.add(module)
    return sorted(modules)
