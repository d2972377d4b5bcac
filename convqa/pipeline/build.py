"""Builds a resolved pipeline: creates each station once and connects them."""

from __future__ import annotations

from convqa.components.base import STATIONS, Station
from convqa.components.encoding import ModelOptions
from convqa.components.framework import Pipeline as HaystackPipeline
from convqa.components.members import MODEL_OPTIONS, allow, describe, described, make
from convqa.errors import InputError
from convqa.pipeline.document import Node, PipelineDocument
from convqa.pipeline.pipeline import Pipeline


def build(document: PipelineDocument, name: str, options: ModelOptions | None = None) -> Pipeline:
    """Create and connect the stations of a resolved pipeline.

    :param name: the pipeline's name, for errors.
    :raises InputError: naming all mistakes.
    """
    allow(document.modules)
    graph = HaystackPipeline(metadata=document.metadata)
    mistakes = []
    token = MODEL_OPTIONS.set(options)
    try:
        for station, node in document.components.items():
            try:
                graph.add_component(station, _member(station, node))
            except InputError as error:
                mistakes.append(str(error))
    finally:
        MODEL_OPTIONS.reset(token)
    if not document.components:
        mistakes.append(f"stations: missing; expected some of {', '.join(STATIONS)}.")
    if mistakes:
        raise InputError(f"pipeline {name}: " + " ".join(mistakes))
    for sender, receiver in document.connections:
        graph.connect(sender, receiver)
    return Pipeline(_with_defaults(document, graph), graph)


def _member(station: str, node: Node) -> Station:
    if node.init_parameters.get("collection") is not None:
        raise InputError(f"{station}.collection: a pipeline cannot name its collection; use --collection.")
    return make(node.flat(), station, STATIONS[station])


def _with_defaults(document: PipelineDocument, graph: HaystackPipeline) -> PipelineDocument:
    """Write out all defaults, so that changing one makes another pipeline. The collection is not part of a pipeline."""
    components = {}
    for name, node in document.components.items():
        _, parameters = described(describe(graph.get_component(name)), name, "")
        parameters.pop("collection", None)
        components[name] = Node(type=node.type, init_parameters=parameters)
    return document.model_copy(update={"components": components})
