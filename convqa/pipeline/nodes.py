"""The nodes of a pipeline: types, components, sockets, and the failures of foreign components."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from convqa.components import base
from convqa.components.base import STATIONS
from convqa.components.checks import failed, path_of, returned, shown
from convqa.components.members import create, full_name, import_type
from convqa.domain import Failure
from convqa.domain.batches import Batch
from convqa.errors import InputError, RunError
from convqa.pipeline.document import Node


class ComponentFailed(RunError):
    """A component with its own ``run`` raised, or returned a value that does not fit its turns.

    The driver turns this into failures of the turns; elsewhere it stops the run.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.stage} failed: {failure.message}")
        self.failure = failure


def type_of(name: str, type_name: str) -> str:
    """Return the dotted path of a node's type. A short name is looked up in the station in the node's name.

    :raises InputError: for an unknown or ambiguous short name.
    """
    stations = [station for station in STATIONS if station in name] or list(STATIONS)
    return full_name(type_name, f"components.{name}", stations)


def resolved(name: str, node: Node) -> Node:
    """Return the node with the dotted path of its type."""
    return Node(type=type_of(name, node.type), init_parameters=node.init_parameters)


def make(name: str, node: Node) -> Any:
    """Create the component of one node.

    :raises InputError: naming every malformed parameter.
    """
    field = f"components.{name}"
    if node.init_parameters.get("collection") is not None:
        raise InputError(f"{field}.collection: a pipeline cannot name its collection; use --collection.")
    component = create(import_type(node.type, field), node.init_parameters, field)
    if component.run.__module__ != base.__name__:
        setattr(component, "run", _guarded(name, component))  # noqa: B010 - mypy knows run as a method
    return component


def inputs(component: Any) -> Mapping[str, Any]:
    """Return the input sockets by name (each with ``.type`` and ``.is_mandatory``)."""
    return component.__haystack_input__._sockets_dict  # type: ignore[no-any-return]


def outputs(component: Any) -> Mapping[str, Any]:
    """Return the output sockets by name (each with ``.type``)."""
    return component.__haystack_output__._sockets_dict  # type: ignore[no-any-return]


def _guarded(name: str, component: Any) -> Callable[..., Mapping[str, Any]]:
    """Wrap ``run`` of a foreign component, so that it raises ComponentFailed for errors and malformed values."""
    run, cls = component.run, type(component)
    method = path_of(cls, "run")
    batch_types = Batch.__subclasses__()
    expected = {socket: output.type for socket, output in outputs(component).items() if output.type in batch_types}

    @functools.wraps(run)
    def guarded(*arguments: Any, **sockets: Any) -> Mapping[str, Any]:
        count = max((len(value) for value in sockets.values() if isinstance(value, Batch)), default=0)
        try:
            result = run(*arguments, **sockets)
            if not isinstance(result, Mapping):
                raise TypeError(f"{method} returned {shown(result)}; expected a mapping of its outputs")
            batches = {}
            for socket, kind in expected.items():
                if not isinstance(batch := result.get(socket), kind):
                    raise TypeError(f"{method} returned {shown(batch)} as {socket}; expected {kind.__name__}")
                batches[socket] = kind(tuple(returned(batch, kind.of, count, cls, "run")))
        except Exception as error:
            raise ComponentFailed(failed(name, error, method)) from error
        return {**result, **batches}

    return guarded
