"""From the type that a pipeline names to the class behind it. Only allow-listed modules load."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

from haystack import component

from convqa import components
from convqa.components.allowed import ALLOWLIST, refusal
from convqa.components.base import STATIONS, Station
from convqa.errors import nearest
from convqa.pipeline.document import NodeError


def members(station: str) -> list[str]:
    """Short names of a station's members: the modules of its folder."""
    folder = importlib.import_module(f"{components.__name__}.{station}s")
    return sorted(module.name for module in pkgutil.iter_modules(folder.__path__))


def full_name(type_name: str, node: str) -> str:
    """The dotted path of a type; a short name is looked up in the station that the node is named after.

    :raises InputError: for a short name that no station, or more than one, knows.
    """
    if "." in type_name:
        return type_name
    stations = [station for station in STATIONS if station in node] or list(STATIONS)
    found = [station for station in stations if type_name in members(station)]
    if len(found) == 1:
        module = f"{components.__name__}.{found[0]}s.{type_name}"
        return f"{module}.{_member(module, found[0]).__name__}"
    known = {member for station in stations for member in members(station)}
    if found:
        raise NodeError(
            f"components.{node}.type: {type_name!r} is a member of {' and '.join(found)}: give its full path, "
            f"for example convqa.components.{found[0]}s.{type_name}."
        )
    raise NodeError(
        f"components.{node}.type: {type_name!r} is not known.{nearest(type_name, known)} "
        f"Members of {' and '.join(stations)}: {', '.join(sorted(known)) or 'none'}."
    )


def import_type(type_name: str, node: str) -> type:
    """The component class behind a dotted path.

    :raises InputError: for a module that is not allowed or not there, and for what is no component.
    """
    module_name, _, class_name = type_name.rpartition(".")
    _check_allowed(module_name, node)
    try:
        module = importlib.import_module(module_name)
        found = getattr(module, class_name, None)
    except ImportError as error:
        raise NodeError(_import_message(type_name, node, error)) from error
    if not inspect.isclass(found) or f"{found.__module__}.{found.__name__}" not in component.registry:
        names = [
            name for name, value in vars(module).items() if _is_component(value) and value.__module__ == module_name
        ]
        raise NodeError(
            f"components.{node}.type: module {module_name} has no component {class_name!r}."
            f"{nearest(class_name, names)}" + (f" It has: {', '.join(sorted(names))}." if names else "")
        )
    if found.__module__ != module_name:
        raise NodeError(
            f"components.{node}.type: {type_name} is only re-exported there; write its own module: "
            f"{found.__module__}.{found.__name__}."
        )
    return found


def _member(module: str, station: str) -> type:
    base = STATIONS[station]
    for value in vars(importlib.import_module(module)).values():
        if _is_component(value) and issubclass(value, base) and value.__module__ == module:
            return value  # type: ignore[no-any-return]
    raise NodeError(f"module {module} has no {base.__name__} component.")


def _is_component(value: Any) -> bool:
    return inspect.isclass(value) and f"{value.__module__}.{value.__name__}" in component.registry


def _check_allowed(module: str, node: str) -> None:
    if reason := refusal(module):
        raise NodeError(f"components.{node}.type: {reason}")


def _import_message(type_name: str, node: str, error: ImportError) -> str:
    """Say whether a module of ours does not exist, or needs something that is not installed."""
    if not isinstance(error, ModuleNotFoundError):
        return f"components.{node}.type: {type_name} cannot be imported ({error})."
    if error.name and not type_name.startswith(error.name):
        return f"components.{node}.type: {type_name} needs the package {error.name!r}, which is not installed."
    known = [f"{components.__name__}.{station}s.{name}" for station in STATIONS for name in members(station)]
    module = type_name.rpartition(".")[0]
    return f"components.{node}.type: there is no module {module!r}.{nearest(module, known)}"


__all__ = ["ALLOWLIST", "Station", "full_name", "import_type", "members"]
