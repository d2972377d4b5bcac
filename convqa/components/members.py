"""Find a station's members, and build them from ``{type: ..., init_parameters: {...}}``, as YAML has them.

This is the only way in: a pipeline's nodes, a member inside another (``rules`` has a builder) and the components of
Haystack that a station wraps are all made here. A short name is a member's module in its station's folder; the module
holds one class of that station. Only allow-listed modules load.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Any, TypeVar, dataclass_transform

from pydantic import ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from convqa import components
from convqa.components.base import STATIONS, Station
from convqa.components.framework import allow_deserialization_module, component, component_from_dict, component_to_dict
from convqa.errors import InputError, nearest
from convqa.validation import explain, shorten

ALLOWLIST = "HAYSTACK_DESERIALIZATION_ALLOWLIST"
"""Haystack's own variable: comma-separated modules of yours that a pipeline may name."""

_TRUSTED = (components.__name__, "haystack", "haystack_integrations")

_given: dict[str, type] = {}
"""Classes that a Python user handed over, by their dotted paths: no import reaches a notebook's."""

Member = TypeVar("Member", bound=Station)
Class = TypeVar("Class", bound=type)

# Components of Haystack may hold members of ours (a SuperComponent, for example).
allow_deserialization_module(components.__name__)


@dataclass_transform(eq_default=False, field_specifiers=(Field,))
def with_parameters(cls: Class) -> Class:
    """The class with a constructor that takes its annotated fields, checked by pydantic, and keeps them."""
    made: Any = dataclass(config=ConfigDict(strict=True, extra="forbid"), eq=False, repr=False)(cls)
    # Haystack and ``parameters_of`` read the parameters there.
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    made.__init__.__signature__ = inspect.Signature([own, *inspect.signature(made).parameters.values()])
    return made  # type: ignore[no-any-return]


@dataclass_transform(eq_default=False, field_specifiers=(Field,))
def member(cls: Class) -> Class:
    """A component of Haystack whose parameters are its annotated fields."""
    return component(with_parameters(cls))  # type: ignore[return-value]


def members(station: str) -> list[str]:
    """Short names of a station's members: the modules of its folder, without those that begin with ``_``."""
    folder = importlib.import_module(f"{components.__name__}.{station}s")
    return sorted(module.name for module in pkgutil.iter_modules(folder.__path__) if not module.name.startswith("_"))


def full_name(name: str, place: str, stations: Collection[str]) -> str:
    """The dotted path of a type; a short name is looked up among the members of ``stations``.

    :param place: where the type is named, for errors.
    :raises InputError: for a short name that no station, or more than one, knows.
    """
    if "." in name:
        return name
    holders = [station for station in stations if name in members(station)]
    if len(holders) == 1:
        module = f"{components.__name__}.{holders[0]}s.{name}"
        for value in vars(importlib.import_module(module)).values():
            if _is_component(value) and issubclass(value, STATIONS[holders[0]]) and value.__module__ == module:
                return _path(value)
        raise InputError(f"module {module} has no {holders[0]}.")
    if holders:
        raise InputError(
            f"{place}.type: {name!r} is a member of {' and '.join(holders)}: give its full path, "
            f"for example {components.__name__}.{holders[0]}s.{name}."
        )
    known = sorted({member for station in stations for member in members(station)})
    raise InputError(
        f"{place}.type: {name!r} is not known.{nearest(name, known)} "
        f"Members of {' and '.join(stations)}: {', '.join(known)}."
    )


def make(description: object, place: str, station: type[Member]) -> Member:
    """The member of a station that a parameter describes; one that is made already is returned.

    :param description: its name, or ``{type: its name, init_parameters: {...}}``.
    :param place: where it is described, for errors.
    :raises InputError: naming the parameter that is wrong.
    """
    if isinstance(description, station):
        return description
    name, parameters = _parts(description, place, f"a {station.station}'s name, or {{type: its name")
    cls = import_type(full_name(name, place, [station.station]), place)
    if not issubclass(cls, station):
        raise InputError(f"{place}.type: {name} is no {station.station}; wanted: one.")
    return create(cls, parameters, place)  # type: ignore[no-any-return]


def make_component(description: object, place: str) -> Any:
    """A component of Haystack, described as in any of its pipelines; one that is made already is returned.

    :raises InputError: naming the parameter that is wrong.
    """
    if hasattr(description, "__haystack_input__"):
        return description
    name, parameters = _parts(description, place, "a component of Haystack, as {type: its full name")
    return create(import_type(name, place), parameters, place)


def create(cls: type, parameters: Mapping[str, Any], place: str) -> Any:
    """An object of a component class. :raises InputError: naming every parameter that is wrong."""
    known = parameters_of(cls)
    if unknown := [name for name in parameters if known is not None and name not in known]:
        lines = [f"{place}.{name} is not known.{nearest(name, known or [])}" for name in unknown]
        raise InputError(f"{' '.join(lines)} Parameters of {cls.__name__}: {', '.join(known or []) or 'none'}.")
    ours = issubclass(cls, Station)
    given = dict(parameters) if ours else _with_full_names(parameters, place)
    try:
        # Haystack's own loader makes secrets, devices and document stores of what describes them.
        return cls(**given) if ours else component_from_dict(cls, {"type": _path(cls), "init_parameters": given}, place)
    except ValidationError as error:
        raise InputError("; ".join(f"{place}.{field} {message}" for field, message in explain(error)) + ".") from error
    except InputError as error:
        raise InputError(f"{place}.{error}") from error
    except Exception as error:
        raise InputError(f"{place}: {type(error).__name__}: {error}. -v shows where.") from error


def describe(made: Any) -> dict[str, Any]:
    """The description from which ``make`` makes an equal object, with every parameter, so that a changed default shows.

    :raises InputError: for one that cannot be described.
    """
    try:
        return component_to_dict(made, type(made).__name__)
    except Exception as error:
        raise InputError(f"{_path(type(made))} cannot be written as YAML: {type(error).__name__}: {error}.") from error


def give(cls: type) -> str:
    """The dotted path of a class that a Python user hands over, by which pipelines of this process may name it.

    :raises InputError: for a class that is no component.
    """
    if not _is_component(cls):
        raise InputError(f"{_path(cls)} is no component: put @member (convqa.components.members) above the class.")
    _given[_path(cls)] = cls
    return _path(cls)


def parameters_of(cls: type) -> list[str] | None:
    """Names of the constructor's parameters; None where it takes any."""
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return []
    found = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in found):
        return None
    return [parameter.name for parameter in found if parameter.name != "self"]


def import_type(name: str, place: str) -> type:
    """The component class behind a dotted path, which may be one that re-exports it.

    :raises InputError: for a module that is not allowed or does not exist, and for what is no component.
    """
    if _is_component(_given.get(name)):
        return _given[name]
    module = _import(name, place)
    attribute = name.rpartition(".")[2]
    cls: Any = getattr(module, attribute, None)
    if _is_component(cls):
        _check_allowed(cls.__module__, place, f"{name} is {_path(cls)}; ")
        return cls  # type: ignore[no-any-return]
    names = sorted(key for key, value in vars(module).items() if _is_component(value))
    raise InputError(
        f"{place}.type: module {module.__name__} has no component {attribute!r}."
        f"{nearest(attribute, names)}" + (f" It has: {', '.join(names)}." if names else "")
    )


def _parts(description: object, place: str, wanted: str) -> tuple[str, Mapping[str, Any]]:
    """The type and the parameters of a description."""
    described = {"type": description} if isinstance(description, str) else description
    if (
        not isinstance(described, Mapping)
        or not isinstance(described.get("type"), str)
        or not isinstance(described.get("init_parameters") or {}, Mapping)
        or set(described) - {"type", "init_parameters"}
    ):
        raise InputError(f"{place}: found {shorten(description)}; wanted: {wanted}, init_parameters: {{...}}}}.")
    return described["type"], described.get("init_parameters") or {}


def _is_component(value: Any) -> bool:
    return inspect.isclass(value) and _path(value) in component.registry


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__name__}"


def _import(name: str, place: str) -> ModuleType:
    """:raises InputError: if the module is not allowed, does not exist, or needs something that is not installed."""
    module = name.rpartition(".")[0]
    _check_allowed(module, place)
    try:
        return importlib.import_module(module)
    except Exception as error:
        if not isinstance(error, ModuleNotFoundError):
            reason = f"{type(error).__name__}: {error}"
            raise InputError(f"{place}.type: {name} cannot be imported ({reason}). -v shows where.") from error
        if error.name and not name.startswith(error.name):
            raise InputError(
                f"{place}.type: {name} needs the package {error.name!r}, which is not installed."
            ) from error
        known = [f"{components.__name__}.{station}s.{member}" for station in STATIONS for member in members(station)]
        package = module.partition(".")[0]
        if not any(trusted.partition(".")[0] == package for trusted in _TRUSTED):
            if error.name not in {None, package}:
                raise InputError(f"{place}.type: the package {package} has no module {error.name!r}.") from error
            raise InputError(
                f"{place}.type: Python finds no module {module!r}. Set PYTHONPATH to the folder that holds {package} "
                "(PYTHONPATH=. for the current one), or install its package."
            ) from error
        raise InputError(f"{place}.type: there is no module {module!r}.{nearest(module, known)}") from error


def _check_allowed(module: str, place: str, why: str = "") -> None:
    """:raises InputError: if a pipeline may not name this module, with what to do."""
    patterns = [pattern.strip() for pattern in os.environ.get(ALLOWLIST, "").split(",") if pattern.strip()]
    for pattern in [*_TRUSTED, *patterns]:
        prefix = pattern.removesuffix(".*")
        if module == prefix or module.startswith(prefix + ".") or fnmatchcase(module, pattern):
            return
    raise InputError(
        f"{place}.type: {why}the module {module!r} is not allowed. A pipeline may name components of "
        f"{', '.join(_TRUSTED)}; if you trust this one, name it in the environment: {ALLOWLIST}={module}."
    )


def _with_full_names(parameters: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Parameters whose nested descriptions name the module that defines each class, as Haystack's loader wants."""
    named = dict(parameters)
    for parameter, value in parameters.items():
        if isinstance(value, Mapping) and "." in str(value.get("type")):
            name, inside = str(value["type"]), f"{place}.{parameter}"
            cls = getattr(_import(name, inside), name.rpartition(".")[2], None)
            if not inspect.isclass(cls):
                raise InputError(f"{inside}.type: there is no class {name}.")
            _check_allowed(cls.__module__, inside, f"{name} is {_path(cls)}; ")
            inner = _with_full_names(value.get("init_parameters") or {}, inside)
            named[parameter] = {"type": _path(cls), "init_parameters": inner}
    return named
