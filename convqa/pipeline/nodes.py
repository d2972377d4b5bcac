"""Making the components of a pipeline, with errors that name node and parameter; their sockets and types."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from haystack import Pipeline as Graph
from pydantic import ValidationError

from convqa.components.base import Builder, Station
from convqa.components.deciding import chosen
from convqa.domain import Answers, Failure, Rankings, Readings, Rewrites, Turns
from convqa.errors import InputError, nearest
from convqa.pipeline.document import Node, NodeError
from convqa.pipeline.types import import_type
from convqa.validation import explain

BATCHES = (Turns, Rewrites, Rankings, Readings, Answers)


def make(name: str, node: Node, collection: str | None = None) -> Any:
    """The component of one node. A parameter ``collection`` that the file leaves open is filled from outside.

    :raises InputError: with one line for every parameter that is wrong.
    """
    cls = import_type(node.type, name)
    parameters = dict(node.init_parameters)
    if parameters.get("collection") is not None:
        raise NodeError(f"components.{name}.collection: a pipeline does not name its collection; give --collection.")
    known = _parameters(cls)
    if "collection" in known and collection is not None:
        parameters["collection"] = collection
    unknown = [parameter for parameter in parameters if known is not None and parameter not in known]
    if unknown:
        lines = [f"components.{name}.{parameter} is not known.{nearest(parameter, known)}" for parameter in unknown]
        raise NodeError(" ".join(lines) + f" Parameters of {node.type}: {', '.join(known) or 'none'}.")
    try:
        # Through Haystack's loader, one node at a time: its own gate on modules holds, and an error has one owner.
        holder = Graph.from_dict(
            {"components": {name: {"type": node.type, "init_parameters": parameters}}, "connections": []},
            allowed_modules=["convqa.components"],
        )
    except Exception as error:
        raise NodeError(_explain(name, error)) from error
    component = holder.get_component(name)
    holder.remove_component(name)
    if isinstance(component, Builder):
        try:
            chosen(component.decision, component.threshold)
        except InputError as error:
            raise NodeError(f"components.{name}.{error}") from None
    if not isinstance(component, Station):
        setattr(component, "run", _guarded(name, component.run))  # noqa: B010 - mypy knows run as a method
    return component


class ComponentFailed(BaseException):
    """A component that is no station of ours raised, or returned something that does not fit its turns.

    Not an Exception: Haystack would wrap it and write a snapshot of all inputs into the home folder.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def _guarded(name: str, run: Callable[..., Mapping[str, Any]]) -> Callable[..., Mapping[str, Any]]:
    """``run`` of a foreign component, whose errors and batches of wrong length come out as ComponentFailed."""

    @functools.wraps(run)
    def guarded(*arguments: Any, **sockets: Any) -> Mapping[str, Any]:
        try:
            made = run(*arguments, **sockets)
        except Exception as error:
            raise ComponentFailed(Failure(name, type(error).__name__, str(error))) from error
        lengths = {len(value) for value in (*sockets.values(), *made.values()) if isinstance(value, BATCHES)}
        if len(lengths) > 1:
            raise ComponentFailed(Failure(name, "ValueError", f"took and made batches of lengths {sorted(lengths)}"))
        return made

    return guarded


def inputs(component: Any) -> Mapping[str, Any]:
    """Input sockets by name (each with ``.type`` and ``.is_mandatory``)."""
    return component.__haystack_input__._sockets_dict  # type: ignore[no-any-return]


def outputs(component: Any) -> Mapping[str, Any]:
    """Output sockets by name (each with ``.type``)."""
    return component.__haystack_output__._sockets_dict  # type: ignore[no-any-return]


def _parameters(cls: type) -> list[str]:
    """Names of the constructor's parameters; a class without a constructor has none."""
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return []
    return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]  # type: ignore[misc]


def _explain(name: str, error: BaseException) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ValidationError):
            return "; ".join(f"components.{name}.{field} {message}" for field, message in explain(cause)) + "."
        if isinstance(cause, InputError):
            return f"components.{name}.{cause}"
        deepest, cause = cause, cause.__cause__
    return f"components.{name}: {deepest}"
