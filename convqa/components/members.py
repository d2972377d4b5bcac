"""Finding the members of stations and creating them from ``{type: ..., init_parameters: {...}}``, as in YAML.

Everything is created here: a pipeline's nodes, nested members (``rules`` has a builder) and wrapped components of
Haystack. A short name is the name of a module in the station's folder, which has one class of that station. Only
allow-listed modules load.
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
from convqa.plugins import plugins
from convqa.validation import explain, shorten

ALLOWLIST = "HAYSTACK_DESERIALIZATION_ALLOWLIST"
"""Haystack's variable: comma-separated modules of the user's that a pipeline may name."""

_TRUSTED = (components.__name__, "convqa.sharc", "haystack", "haystack_integrations")

_given: dict[str, type] = {}
"""Registered classes by dotted path, because those of a notebook cannot be imported."""

Member = TypeVar("Member", bound=Station)
Class = TypeVar("Class", bound=type)

# Components of Haystack, such as a SuperComponent, may contain members of ours.
allow_deserialization_module(components.__name__)


@dataclass_transform(eq_default=False, field_specifiers=(Field,))
def with_parameters(cls: Class) -> Class:
    """Add a constructor that validates the annotated fields with pydantic and stores them."""
    result: Any = dataclass(config=ConfigDict(strict=True, extra="forbid"), eq=False, repr=False)(cls)
    # Haystack and ``parameters_of`` read this signature.
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    result.__init__.__signature__ = inspect.Signature([own, *inspect.signature(result).parameters.values()])
    return result  # type: ignore[no-any-return]


@dataclass_transform(eq_default=False, field_specifiers=(Field,))
def member(cls: Class) -> Class:
    """Make a class a component of Haystack whose parameters are its annotated fields."""
    return component(with_parameters(cls))  # type: ignore[return-value]


def members(station: str) -> list[str]:
    """Return the short names of a station's members: the modules of its folder that do not begin with ``_``, and the
    entry points of the group ``convqa.STATIONs``.
    """
    folder = importlib.import_module(f"{components.__name__}.{station}s")
    own = {module.name for module in pkgutil.iter_modules(folder.__path__) if not module.name.startswith("_")}
    return sorted(own | plugins(f"convqa.{station}s").keys())


def full_name(name: str, place: str, stations: Collection[str]) -> str:
    """Return the dotted path of a type. A short name is looked up among the members of ``stations``.

    :param place: the field with the type, for errors.
    :raises InputError: for an unknown or ambiguous short name.
    """
    if "." in name:
        return name
    holders = [station for station in stations if name in members(station)]
    if len(holders) == 1:
        if point := plugins(f"convqa.{holders[0]}s").get(name):
            return f"{point.module}.{point.attr}"
        module = f"{components.__name__}.{holders[0]}s.{name}"
        for value in vars(importlib.import_module(module)).values():
            if _is_component(value) and issubclass(value, STATIONS[holders[0]]) and value.__module__ == module:
                return _path(value)
        raise InputError(f"module {module} has no {holders[0]}.")
    if holders:
        raise InputError(
            f"{place}.type: {name!r} is a member of {' and '.join(holders)}; use its full path, "
            f"for example {components.__name__}.{holders[0]}s.{name}."
        )
    known = sorted({member for station in stations for member in members(station)})
    raise InputError(
        f"{place}.type: unknown name {name!r}.{nearest(name, known)} "
        f"Members of {' and '.join(stations)}: {', '.join(known)}."
    )


def make(description: object, place: str, station: type[Member]) -> Member:
    """Create the member of a station that a parameter describes. A member is returned unchanged.

    :param description: its name, or ``{type: its name, init_parameters: {...}}``.
    :param place: the field with the description, for errors.
    :raises InputError: naming the malformed parameter.
    """
    if isinstance(description, station):
        return description
    name, parameters = _parts(description, place, f"a {station.station}'s name, or {{type: its name")
    cls = import_type(full_name(name, place, [station.station]), place)
    if not issubclass(cls, station):
        raise InputError(f"{place}.type: expected a {station.station}, got {name}.")
    return create(cls, parameters, place)  # type: ignore[no-any-return]


def make_component(description: object, place: str) -> Any:
    """Create a component of Haystack from its description. A component is returned unchanged.

    :raises InputError: naming the malformed parameter.
    """
    if hasattr(description, "__haystack_input__"):
        return description
    name, parameters = _parts(description, place, "a component of Haystack, as {type: its full name")
    return create(import_type(name, place), parameters, place)


def create(cls: type, parameters: Mapping[str, Any], place: str) -> Any:
    """Create an instance of a component class. :raises InputError: naming every malformed parameter."""
    known = parameters_of(cls)
    if unknown := [name for name in parameters if known is not None and name not in known]:
        lines = [f"{place}.{name}: unknown parameter.{nearest(name, known or [])}" for name in unknown]
        raise InputError(f"{' '.join(lines)} Parameters of {cls.__name__}: {', '.join(known or []) or 'none'}.")
    try:
        if issubclass(cls, Station):
            return cls(**parameters)
        # Haystack's loader creates nested secrets, devices and document stores.
        description = {"type": _path(cls), "init_parameters": _with_full_names(parameters, place)}
        return component_from_dict(cls, description, place)
    except ValidationError as error:
        raise InputError("; ".join(f"{place}.{field}: {message}" for field, message in explain(error)) + ".") from error
    except InputError as error:
        raise InputError(f"{place}.{error}") from error
    except Exception as error:
        raise InputError(f"{place}: {type(error).__name__}: {error}. -v shows where.") from error


def describe(instance: Any) -> dict[str, Any]:
    """Return the description from which ``make`` creates an equal object, with all parameters and their defaults.

    :raises InputError: if the object cannot be described.
    """
    try:
        return component_to_dict(instance, type(instance).__name__)
    except Exception as error:
        path = _path(type(instance))
        raise InputError(f"{path} cannot be written as YAML: {type(error).__name__}: {error}.") from error


def give(cls: type) -> str:
    """Register a user's class, so that pipelines of this process may name it, and return its dotted path.

    :raises InputError: for a class that is not a component.
    """
    if not _is_component(cls):
        raise InputError(f"{_path(cls)} is not a component: put @member (convqa.components.members) above the class.")
    _given[_path(cls)] = cls
    return _path(cls)


def parameters_of(cls: type) -> list[str] | None:
    """Return the names of the constructor's parameters, or None if it accepts any."""
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return []
    parameters = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return [parameter.name for parameter in parameters if parameter.name != "self"]


def import_type(name: str, place: str) -> type:
    """Import the component class with a dotted path, which may be a re-export.

    :raises InputError: for a module that is not allowed or does not exist, or an object that is not a component.
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


def _parts(description: object, place: str, expected: str) -> tuple[str, Mapping[str, Any]]:
    """Return the type and the parameters of a description."""
    described = {"type": description} if isinstance(description, str) else description
    if (
        not isinstance(described, Mapping)
        or not isinstance(described.get("type"), str)
        or not isinstance(described.get("init_parameters") or {}, Mapping)
        or set(described) - {"type", "init_parameters"}
    ):
        raise InputError(f"{place}: expected {expected}, init_parameters: {{...}}}}, got {shorten(description)}.")
    return described["type"], described.get("init_parameters") or {}


def _is_component(value: Any) -> bool:
    return inspect.isclass(value) and _path(value) in component.registry


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__name__}"


def _import(name: str, place: str) -> ModuleType:
    """:raises InputError: if the module is not allowed, does not exist, or needs a missing package."""
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
                f"{place}.type: {name} needs the package {error.name!r}, which is not installed ({error})."
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
        raise InputError(f"{place}.type: unknown module {module!r}.{nearest(module, known)}") from error


def _check_allowed(module: str, place: str, why: str = "") -> None:
    """:raises InputError: if a pipeline may not name this module."""
    patterns = [pattern.strip() for pattern in os.environ.get(ALLOWLIST, "").split(",") if pattern.strip()]
    for pattern in [*_TRUSTED, *patterns]:
        prefix = pattern.removesuffix(".*")
        if module == prefix or module.startswith(prefix + ".") or fnmatchcase(module, pattern):
            return
    raise InputError(
        f"{place}.type: {why}the module {module!r} is not allowed. A pipeline may name components of "
        f"{', '.join(_TRUSTED)}; if you trust this one, set the environment variable {ALLOWLIST}={module}."
    )


def _with_full_names(parameters: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the parameters with the defining module of each nested class, as Haystack's loader requires."""
    named = dict(parameters)
    for parameter, value in parameters.items():
        if isinstance(value, Mapping) and "." in str(value.get("type")):
            name, inside = str(value["type"]), f"{place}.{parameter}"
            cls = getattr(_import(name, inside), name.rpartition(".")[2], None)
            if not inspect.isclass(cls):
                raise InputError(f"{inside}.type: unknown class {name}.")
            _check_allowed(cls.__module__, inside, f"{name} is {_path(cls)}; ")
            inner = _with_full_names(value.get("init_parameters") or {}, inside)
            named[parameter] = {"type": _path(cls), "init_parameters": inner}
    return named
