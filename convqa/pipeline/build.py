"""Builds a resolved pipeline: creates each component once, connects them, and checks the connections."""

from __future__ import annotations

import functools
import graphlib
from collections.abc import Callable, Mapping
from typing import Any

from convqa.components import base
from convqa.components.checks import failed, returned, shown
from convqa.components.encoding import ModelOptions
from convqa.components.framework import Pipeline as HaystackPipeline
from convqa.components.framework import PipelineError
from convqa.components.members import MODEL_OPTIONS, allow, create, describe, described, import_type
from convqa.domain.batches import Batch, Turns
from convqa.errors import InputError, nearest
from convqa.pipeline.document import Node, PipelineDocument
from convqa.pipeline.pipeline import OUTPUTS, ComponentFailed, Pipeline


def build(
    document: PipelineDocument,
    name: str,
    options: ModelOptions | None = None,
) -> Pipeline:
    """Create and connect the components of a resolved pipeline.

    :param name: the pipeline's name, for errors.
    :raises InputError: naming all mistakes.
    """
    allow(document.modules)
    graph = HaystackPipeline(metadata=document.metadata)
    mistakes = []
    token = MODEL_OPTIONS.set(options)
    try:
        for key, node in document.components.items():
            try:
                graph.add_component(key, _component(key, node))
            except (InputError, ValueError) as error:
                mistakes.append(str(error))
    finally:
        MODEL_OPTIONS.reset(token)
    if not mistakes:
        mistakes = _connect(graph, document)
    if not mistakes:
        mistakes = [*_input_mistakes(graph, document), *_output_mistakes(graph, document)]
    if mistakes:
        raise InputError(f"pipeline {name}: " + " ".join(mistakes))
    return Pipeline(_with_defaults(document, graph), graph)


def _component(name: str, node: Node) -> Any:
    """Create the component of one node.

    :raises InputError: naming every malformed parameter.
    """
    if node.init_parameters.get("collection") is not None:
        raise InputError(f"{name}.collection: a pipeline cannot name its collection; use --collection.")
    component = create(import_type(node.type, name), node.init_parameters, name)
    if component.run.__module__ != base.__name__:
        setattr(component, "run", _guarded(name, component))  # noqa: B010 - mypy knows run as a method
    return component


def _guarded(name: str, component: Any) -> Callable[..., Mapping[str, Any]]:
    """Wrap ``run`` of a foreign component, so that it raises ComponentFailed for errors and malformed values."""
    run = component.run
    cls = type(component)
    who = f"{cls.__module__}.{cls.__qualname__}"
    batch_types = Batch.__subclasses__()
    sockets = component.__haystack_output__._sockets_dict
    expected = {label: socket.type for label, socket in sockets.items() if socket.type in batch_types}

    @functools.wraps(run)
    def guarded(*arguments: Any, **inputs: Any) -> Mapping[str, Any]:
        sizes = [len(value) for value in inputs.values() if isinstance(value, Batch)]
        count = max(sizes, default=0)
        batches = {}
        try:
            result = run(*arguments, **inputs)
            if not isinstance(result, Mapping):
                raise TypeError(f"{who} returned {shown(result)}; expected a mapping of its outputs")
            for label, kind in expected.items():
                batch = result.get(label)
                if not isinstance(batch, kind):
                    raise TypeError(f"{who} returned {shown(batch)} as {label}; expected {kind.__name__}")
                items = returned(batch, kind.of, count, cls)
                batches[label] = kind(tuple(items))
        except Exception as error:
            raise ComponentFailed(failed(name, error)) from error
        return {**result, **batches}

    return guarded


def _with_defaults(document: PipelineDocument, graph: HaystackPipeline) -> PipelineDocument:
    """Write out all defaults, so that changing one makes another pipeline. The collection is not part of a pipeline."""
    components = {}
    for name, node in document.components.items():
        component = graph.get_component(name)
        _, parameters = described(describe(component), name, "")
        parameters.pop("collection", None)
        components[name] = Node(type=node.type, init_parameters=parameters)
    return document.model_copy(update={"components": components})


def _connect(graph: HaystackPipeline, document: PipelineDocument) -> list[str]:
    """Connect the components, and return the mistakes."""
    mistakes = []
    for arrow in document.connections:
        try:
            graph.connect(arrow.sender, arrow.receiver)
        except (PipelineError, ValueError, KeyError) as error:
            mistakes.append(f"connections: {arrow.sender} -> {arrow.receiver}: {' '.join(str(error).split())}")
    try:
        document.in_order()
    except graphlib.CycleError as error:
        mistakes.append(f"connections form a cycle: {' -> '.join(reversed(error.args[1]))}. Remove one of them.")
    return mistakes


def _input_mistakes(graph: HaystackPipeline, document: PipelineDocument) -> list[str]:
    """Compare ``inputs:`` with the unconnected sockets, which Haystack would not report."""
    unknown = [name for name in document.inputs if name != "turns"]
    mistakes = [f"inputs.{name}: unknown input; expected turns." for name in unknown]
    declared = document.inputs.get("turns", [])
    fed = {*declared, *(arrow.receiver for arrow in document.connections)}
    sockets = _sockets(graph.inputs(include_components_with_connected_inputs=True))
    for receiver in declared:
        if receiver not in sockets:
            mistakes.append(f"inputs.turns: unknown socket {receiver!r}.{nearest(receiver, sockets)}")
        elif sockets[receiver]["type"] is not Turns:
            mistakes.append(f"inputs.turns: {receiver} does not take turns.")
    for socket, details in sockets.items():
        if details["is_mandatory"] and socket not in fed:
            mistakes.append(f"{socket} has no connection. Connect it, or add it to inputs.")
    return mistakes


def _output_mistakes(graph: HaystackPipeline, document: PipelineDocument) -> list[str]:
    expected = f"expected some of {', '.join(OUTPUTS)}."
    mistakes = [] if document.outputs else [f"outputs: missing; {expected}"]
    sockets = _sockets(graph.outputs(include_components_with_connected_outputs=True))
    for label, sender in document.outputs.items():
        if label not in OUTPUTS:
            mistakes.append(f"outputs.{label}: unknown output; {expected}{nearest(label, OUTPUTS)}")
        elif sender not in sockets:
            mistakes.append(f"outputs.{label}: unknown socket {sender!r}.")
        elif sockets[sender]["type"] is not OUTPUTS[label]:
            mistakes.append(f"outputs.{label}: {sender} does not return {label}.")
    return mistakes


def _sockets(by_node: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return ``node.socket`` -> its details."""
    return {f"{node}.{name}": details for node, sockets in by_node.items() for name, details in sockets.items()}
