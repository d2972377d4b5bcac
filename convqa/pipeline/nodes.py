"""A pipeline's nodes: what type each is, its component and its sockets, and how foreign components fail."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from convqa.components import base
from convqa.components.base import STATIONS
from convqa.components.members import create, full_name, import_type
from convqa.components.returned import failed, path_of, returned, shown
from convqa.domain import Failure
from convqa.domain.batches import Batch
from convqa.errors import InputError, RunError
from convqa.pipeline.document import Node


class ComponentFailed(RunError):
    """A component whose ``run`` is no station's raised, or returned something that does not fit its turns.

    The driver makes it a failure of its turns; elsewhere it stops the work.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.stage} failed: {failure.message}")
        self.failure = failure


def type_of(name: str, type_name: str) -> str:
    """The dotted path of a node's type. A short name is looked up in the station that the node is named after.

    :raises InputError: for a short name that no station, or more than one, knows.
    """
    stations = [station for station in STATIONS if station in name] or list(STATIONS)
    return full_name(type_name, f"components.{name}", stations)


def make(name: str, node: Node) -> Any:
    """The component of one node.

    :raises InputError: naming every parameter that is wrong.
    """
    place = f"components.{name}"
    if node.init_parameters.get("collection") is not None:
        raise InputError(f"{place}.collection: a pipeline does not name its collection; give --collection.")
    component = create(import_type(node.type, place), node.init_parameters, place)
    if component.run.__module__ != base.__name__:
        setattr(component, "run", _guarded(name, component))  # noqa: B010 - mypy knows run as a method
    return component


def inputs(component: Any) -> Mapping[str, Any]:
    """Input sockets by name (each with ``.type`` and ``.is_mandatory``)."""
    return component.__haystack_input__._sockets_dict  # type: ignore[no-any-return]


def outputs(component: Any) -> Mapping[str, Any]:
    """Output sockets by name (each with ``.type``)."""
    return component.__haystack_output__._sockets_dict  # type: ignore[no-any-return]


def _guarded(name: str, component: Any) -> Callable[..., Mapping[str, Any]]:
    """``run`` of a foreign component, whose errors and wrong values come out as ComponentFailed."""
    run, cls = component.run, type(component)
    method = path_of(cls, "run")
    known = Batch.__subclasses__()
    wanted = {socket: made.type for socket, made in outputs(component).items() if made.type in known}

    @functools.wraps(run)
    def guarded(*arguments: Any, **sockets: Any) -> Mapping[str, Any]:
        count = max((len(value) for value in sockets.values() if isinstance(value, Batch)), default=0)
        try:
            made = run(*arguments, **sockets)
            if not isinstance(made, Mapping):
                raise TypeError(f"{method} returned {shown(made)}; wanted: a mapping of its outputs")
            batches = {}
            for socket, kind in wanted.items():
                if not isinstance(batch := made.get(socket), kind):
                    raise TypeError(f"{method} returned {shown(batch)} as {socket}; wanted: {kind.__name__}")
                batches[socket] = kind(tuple(returned(batch, kind.of, count, cls, "run")))
        except Exception as error:
            raise ComponentFailed(failed(name, error, method)) from error
        return {**made, **batches}

    return guarded
