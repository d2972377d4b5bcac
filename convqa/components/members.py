"""The members of the stations: how a class becomes one, how they are found, and how YAML becomes an object.

Everything is created here: a pipeline's stations, nested members (``small_talk`` has a rewriter) and wrapped components
of Haystack. A short name is that of a module in the station's folder, or of another package's entry point. Only allowed
modules load.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
from collections.abc import Collection, Iterable, Mapping
from contextvars import ContextVar
from importlib.metadata import EntryPoint
from itertools import chain
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

MODEL_OPTIONS: ContextVar[Mapping[str, Any] | None] = ContextVar("model_options", default=None)
"""Defaults for the parameter ``options`` of the members that are being created."""

_TRUSTED = (components.__name__, "convqa.sharc", "haystack", "haystack_integrations")

_allowed: set[str] = set()
"""Modules that the user's own pipeline files name."""

_given: dict[str, type] = {}
"""Registered classes by dotted path, because those of a notebook cannot be imported."""

Member = TypeVar("Member", bound=Station)
Class = TypeVar("Class", bound=type)

# Components of Haystack, such as a SuperComponent, may contain members of ours.
allow_deserialization_module(components.__name__)
allow_deserialization_module("convqa.sharc")


@dataclass_transform(eq_default=False, field_specifiers=(Field,))
def member(cls: Class) -> Class:
    """Make a class a component whose parameters are its annotated fields.

    Its constructor validates them with pydantic and stores them; a class with its own ``__init__`` keeps it. A mixin,
    which has no ``run``, only gets the constructor.
    """
    result: Any = cls
    if "__init__" not in vars(cls):
        result = dataclass(config=ConfigDict(strict=True, extra="forbid"), eq=False, repr=False)(cls)
        # Haystack and ``parameters_of`` read this signature.
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        result.__init__.__signature__ = inspect.Signature([own, *inspect.signature(result).parameters.values()])
    return component(result) if hasattr(result, "run") else result  # type: ignore[return-value]


def members(station: str) -> list[str]:
    """Return the short names of a station's members."""
    return sorted({*_modules(station), *_plugins(station)})


def full_name(name: str, place: str, stations: Collection[str]) -> str:
    """Return the dotted path of a type. A short name is looked up among the members of ``stations``.

    :param place: the field with the type, for errors.
    :raises InputError: for an unknown or ambiguous short name.
    """
    if "." in name:
        return name
    holders = [station for station in stations if name in members(station)]
    if len(holders) == 1:
        return _path_of_member(name, holders[0])
    if holders:
        raise InputError(f"{place}.type: {name!r} is a member of {' and '.join(holders)}; use its full path.")
    known = sorted({member for station in stations for member in members(station)})
    raise InputError(
        f"{place}.type: unknown name {name!r}.{nearest(name, known)} "
        f"Members of {' and '.join(stations)}: {', '.join(known)}."
    )


def make(description: object, place: str, station: type[Member]) -> Member:
    """Create the member of a station that a parameter describes. A member is returned unchanged.

    :param description: its name, or ``{type: its name, PARAMETER: VALUE, ...}``.
    :param place: the field with the description, for errors.
    :raises InputError: naming the malformed parameter.
    """
    if isinstance(description, station):
        return description
    name, parameters = described(
        description,
        place,
        f"a {station.station}'s name, or {{type: its name, ...}}",
    )
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
    expected = "a component of Haystack, as {type: its full name, init_parameters: {...}}"
    name, parameters = described(description, place, expected)
    return create(import_type(name, place), parameters, place)


def described(
    description: object,
    place: str,
    expected: str,
) -> tuple[str, dict[str, Any]]:
    """Return the type and the parameters of a description: flat, in Haystack's form, or a name alone.

    >>> described({"type": "span", "words": 9}, "", ""), described({"type": "x", "init_parameters": {"a": 1}}, "", "")
    (('span', {'words': 9}), ('x', {'a': 1}))

    :raises InputError: for anything else.
    """
    if isinstance(description, str):
        return description, {}
    if isinstance(description, Mapping) and isinstance(description.get("type"), str):
        parameters = {name: value for name, value in description.items() if name != "type"}
        if parameters.keys() == {"init_parameters"}:
            parameters = parameters["init_parameters"] or {}
        if isinstance(parameters, Mapping) and "init_parameters" not in parameters:
            return description["type"], dict(parameters)
    raise InputError(f"{place}: expected {expected}, got {shorten(description)}.")


def create(cls: type, parameters: Mapping[str, Any], place: str) -> Any:
    """Create an instance of a component class. :raises InputError: naming every malformed parameter."""
    known = parameters_of(cls)
    if known is not None and not set(parameters) <= set(known):
        raise InputError(_unknown_parameters(cls, parameters, known, place))
    try:
        if issubclass(cls, Station):
            defaults = MODEL_OPTIONS.get()
            if defaults and "options" in (known or ()):
                parameters = {**parameters, "options": {**defaults, **(parameters.get("options") or {})}}
            return cls(**parameters)
        # Haystack's loader creates nested secrets, devices and document stores.
        description = {"type": _path(cls), "init_parameters": dict(parameters)}
        return component_from_dict(cls, description, place)
    except ValidationError as error:
        raise InputError("; ".join(f"{place}.{field}: {message}" for field, message in explain(error)) + ".") from error
    except InputError as error:
        raise InputError(f"{place}.{error}") from error
    except Exception as error:
        raise InputError(f"{place}: {type(error).__name__}: {error}. -v shows where.") from error


def describe(instance: Any) -> dict[str, Any]:
    """Return the description from which an equal object can be created, with all parameters and their defaults.

    That of a member is flat, that of another component in Haystack's form.

    :raises InputError: if the object cannot be described.
    """
    try:
        description = component_to_dict(instance, type(instance).__name__)
    except Exception as error:
        path = _path(type(instance))
        raise InputError(f"{path} cannot be written as YAML: {type(error).__name__}: {error}.") from error
    if isinstance(instance, Station):
        return {"type": description["type"], **description["init_parameters"]}
    return description


def give(cls: type) -> str:
    """Register a user's class, so that pipelines of this process may name it, and return its dotted path.

    :raises InputError: for a class that is not a component.
    """
    if not _is_component(cls):
        raise _no_member(_path(cls))
    _given[_path(cls)] = cls
    return _path(cls)


def allow(modules: Iterable[str]) -> None:
    """Allow modules in this process, for Haystack's loader too."""
    for module in modules:
        _allowed.add(module)
        allow_deserialization_module(module)


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
    if inspect.isclass(cls):
        raise _no_member(f"{place}.type: {name}")
    names = sorted(key for key, value in vars(module).items() if _is_component(value))
    raise InputError(
        f"{place}.type: module {module.__name__} has no component {attribute!r}."
        f"{nearest(attribute, names)}" + (f" It has: {', '.join(names)}." if names else "")
    )


def _modules(station: str) -> list[str]:
    """Return the modules of a station's folder; those that begin with ``_`` are helpers."""
    folder = importlib.import_module(f"{components.__name__}.{station}s")
    return [module.name for module in pkgutil.iter_modules(folder.__path__) if not module.name.startswith("_")]


def _plugins(station: str) -> Mapping[str, EntryPoint]:
    """Return the members of other packages, which were trusted when they were installed."""
    return plugins(f"convqa.{station}s")


def _path_of_member(name: str, station: str) -> str:
    if name not in _modules(station):
        point = _plugins(station)[name]
        return f"{point.module}.{point.attr}"
    module = f"{components.__name__}.{station}s.{name}"
    for value in vars(importlib.import_module(module)).values():
        if _is_component(value) and issubclass(value, STATIONS[station]) and value.__module__ == module:
            return _path(value)
    raise InputError(f"module {module} has no {station}.")


def _unknown_parameters(
    cls: type,
    parameters: Iterable[str],
    known: Collection[str],
    place: str,
) -> str:
    unknown = [name for name in parameters if name not in known]
    lines = [f"{place}.{name}: unknown parameter.{nearest(name, known)}" for name in unknown]
    return f"{' '.join(lines)} Parameters of {cls.__name__}: {', '.join(known) or 'none'}."


def _is_component(value: Any) -> bool:
    return inspect.isclass(value) and _path(value) in component.registry


def _no_member(cls: str) -> InputError:
    return InputError(f"{cls} is not a component: put @member (convqa.components.members) above the class.")


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__name__}"


def _import(name: str, place: str) -> ModuleType:
    """:raises InputError: if the module is not allowed, does not exist, or needs a missing package."""
    module = name.rpartition(".")[0]
    _check_allowed(module, place)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        known = [f"{components.__name__}.{station}s.{member}" for station in STATIONS for member in members(station)]
        raise InputError(
            f"{place}.type: {name}: Python finds no module {error.name!r}.{nearest(module, known)} Install its "
            "package, or put a module of yours into the folder of the pipeline file or of the ablation."
        ) from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"{place}.type: {name} cannot be imported ({reason}). -v shows where.") from error


def _check_allowed(module: str, place: str, why: str = "") -> None:
    """:raises InputError: if a pipeline may not name this module."""
    patterns = [pattern.strip() for pattern in os.environ.get(ALLOWLIST, "").split(",")]
    outside = (point.module for station in STATIONS for point in _plugins(station).values())
    if any(pattern and _matches(module, pattern) for pattern in chain(_TRUSTED, _allowed, patterns, outside)):
        return
    raise InputError(
        f"{place}.type: {why}the module {module!r} is not allowed. A pipeline may name components of "
        f"{', '.join(_TRUSTED)}, and a pipeline file of yours also its own modules, but none of Python's. If you trust "
        f"this one, set the environment variable {ALLOWLIST}={module}."
    )


def _matches(module: str, pattern: str) -> bool:
    prefix = pattern.removesuffix(".*")
    return module == prefix or module.startswith(f"{prefix}.")
