"""Members of a station inside another, as YAML has them: a short name, or ``{type: ..., init_parameters: {...}}``."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from types import ModuleType
from typing import TypeVar

from haystack.core.serialization import component_from_dict
from pydantic import ValidationError

from convqa.components.allowed import refusal
from convqa.components.base import Station
from convqa.errors import InputError, nearest
from convqa.validation import explain, shorten

Member = TypeVar("Member", bound=Station)


def nested(value: object, place: str, base: type[Member], members: ModuleType) -> Member:
    """The member that a parameter describes; one that is made already is given back.

    :param place: the parameter's name, for errors.
    :param base: its station. :param members: the package of the station's members.
    :raises InputError: for anything that describes none.
    """
    if isinstance(value, base):
        return value
    described = {"type": value} if isinstance(value, str) else value
    if not isinstance(described, Mapping) or "type" not in described or set(described) - {"type", "init_parameters"}:
        raise InputError(
            f"{place}: found {shorten(value)}; wanted: a {base.station}'s name, or "
            "{type: its name, init_parameters: {...}}."
        )
    cls = _class(str(described["type"]), place, base, members)
    parameters = dict(described.get("init_parameters") or {})
    known = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]
    for name in parameters:
        if name not in known:
            raise InputError(
                f"{place}.{name} is not known.{nearest(name, known)} Parameters of {cls.__name__}: "
                f"{', '.join(known) or 'none'}."
            )
    data = {"type": f"{cls.__module__}.{cls.__name__}", "init_parameters": parameters}
    try:
        return component_from_dict(cls, data, place)  # type: ignore[no-any-return]
    except ValidationError as error:
        raise InputError("; ".join(f"{place}.{field} {message}" for field, message in explain(error)) + ".") from error
    except InputError as error:
        raise InputError(f"{place}.{error}") from error


def _class(name: str, place: str, base: type[Member], members: ModuleType) -> type[Member]:
    """A member's class by its short name, or by its full path where a pipeline may name it."""
    module, _, wanted = name.rpartition(".")
    if not module:
        known = sorted(found.name for found in pkgutil.iter_modules(members.__path__))
        if name not in known:
            raise InputError(
                f"{place}.type: {name!r} is not known.{nearest(name, known)} "
                f"{base.station.capitalize()}s: {', '.join(known)}."
            )
        module, wanted = f"{members.__name__}.{name}", ""
    if reason := refusal(module):
        raise InputError(f"{place}.type: {reason}")
    try:
        imported = importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"{place}.type: {name} cannot be imported ({error}).") from error
    for found in vars(imported).values():
        own = inspect.isclass(found) and issubclass(found, base) and found.__module__ == module
        if own and wanted in {"", found.__name__}:
            return found  # type: ignore[no-any-return]
    raise InputError(f"{place}.type: {module} has no {base.station}{f' {wanted}' if wanted else ''}.")
