"""Making the components of a pipeline, with errors that name node and parameter; their sockets and types."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from haystack import Pipeline as Graph
from pydantic import ValidationError

from convqa.errors import InputError, nearest
from convqa.pipeline.document import Node
from convqa.pipeline.types import import_type
from convqa.validation import explain


def make(name: str, node: Node, collection: str | None = None) -> Any:
    """The component of one node. A parameter ``collection`` that the file leaves open is filled from outside.

    :raises InputError: with one line for every parameter that is wrong.
    """
    cls = import_type(node.type, name)
    parameters = dict(node.init_parameters)
    known = _parameters(cls)
    if "collection" in known and parameters.get("collection") is None and collection is not None:
        parameters["collection"] = collection
    unknown = [parameter for parameter in parameters if known is not None and parameter not in known]
    if unknown:
        lines = [f"components.{name}.{parameter} is not known.{nearest(parameter, known)}" for parameter in unknown]
        raise InputError(" ".join(lines) + f" Parameters of {node.type}: {', '.join(known) or 'none'}.")
    try:
        # Through Haystack's loader, one node at a time: its own gate on modules holds, and an error has one owner.
        holder = Graph.from_dict(
            {"components": {name: {"type": node.type, "init_parameters": parameters}}, "connections": []},
            allowed_modules=["convqa.components"],
        )
    except Exception as error:
        raise InputError(_explain(name, error)) from error
    component = holder.get_component(name)
    holder.remove_component(name)
    return component


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
            return str(cause)
        deepest, cause = cause, cause.__cause__
    return f"components.{name}: {deepest}"
