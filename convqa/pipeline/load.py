"""Pipelines: a resolved document wired as a Haystack pipeline, which runs on one wave of turns at a time."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.components.base import MADE, TIMINGS, Station
from convqa.components.chat import ChatStation
from convqa.components.encoding import ModelOptions
from convqa.components.framework import Pipeline as Graph
from convqa.components.framework import PipelineError
from convqa.components.members import describe, import_type
from convqa.domain import DEFAULT_LANGUAGE, Answers, Rankings, Readings, Rewrites, Turns
from convqa.domain.batches import Batch
from convqa.errors import InputError, nearest
from convqa.models.shared import clock
from convqa.pipeline import nodes
from convqa.pipeline.compose import compose
from convqa.pipeline.document import Document, Node
from convqa.pipeline.llm import Llm
from convqa.stores import open_store
from convqa.workers.threads import threads

OUTPUTS: Mapping[str, type] = {"rewrites": Rewrites, "rankings": Rankings, "readings": Readings, "answers": Answers}


Made = Callable[[str, Batch], None]
"""A callback that receives the label (``rewrites``, ``rankings`` ...) and batch of each output as it is made."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """The results of one run, None for stages that the pipeline lacks; ``timings`` are seconds by node."""

    rewrites: Rewrites | None
    rankings: Rankings | None
    readings: Readings | None
    answers: Answers | None
    timings: Mapping[str, float]


class Pipeline:
    """A pipeline that answers turns. It is stateless and may answer many conversations at once."""

    def __init__(self, document: Document, graph: Graph) -> None:
        self.document = document
        self.collection: str | None = None
        self._graph = graph
        self._components = {name: graph.get_component(name) for name in document.components}

    @property
    def stages(self) -> frozenset[str]:
        """The outputs of this pipeline, among rewrites, rankings, readings and answers."""
        return frozenset(self.document.outputs)

    @property
    def needs_collection(self) -> bool:
        """Whether a station of this pipeline requires a collection."""
        return any(getattr(component, "needs_collection", False) for component in self._components.values())

    @property
    def models(self) -> dict[str, dict[str, str]]:
        """The identity of each node's models; nodes without models are omitted."""
        return {name: dict(identity) for name, station in self._stations() if (identity := station.identity())}

    @property
    def asks_a_server(self) -> bool:
        """Whether a station waits for the server of a language model."""
        return any(
            isinstance(member, ChatStation) for _, station in self._stations() for member in (station, *station.inner)
        )

    @property
    def language(self) -> str:
        """The language of the collection, or the default language without a collection."""
        return DEFAULT_LANGUAGE if self.collection is None else open_store(self.collection).info().language

    @property
    def graph(self) -> Graph:
        """The Haystack pipeline."""
        return self._graph

    def bind(self, collection: str) -> None:
        """Make every station search the collection with this URL. Call this before ``warm_up``."""
        self.collection = collection
        for _, station in self._stations():
            station.bind(collection)

    def to_haystack(self, collection: str | None = None) -> str:
        """Return this pipeline as YAML for Haystack's loader, resolved and with the collection, as an absolute path.

        :raises InputError: without a collection, if a station requires one.
        """
        if collection is None and self.needs_collection:
            raise InputError("the pipeline needs a collection in Haystack's YAML: add --collection.")
        url = str(Path(collection).resolve()) if collection and Path(collection).exists() else collection
        components = dict(self.document.components)
        for name, station in self._stations():
            if url is not None and hasattr(station, "collection"):
                node = components[name]
                components[name] = Node(type=node.type, init_parameters=node.init_parameters | {"collection": url})
        return self.document.model_copy(update={"components": components}).to_yaml()

    def warm_up(self) -> None:
        """Open the collection and load the models, so that missing ones are reported early."""
        with ThreadPoolExecutor(threads()) as pool:
            list(pool.map(lambda named: named[1].warm_up(), self._stations()))
        self._graph.warm_up()

    def forecast(self, turns: int) -> list[str]:
        """Return the stations' warnings before this many turns are answered."""
        return [f"{name}: {warning}" for name, station in self._stations() if (warning := station.forecast(turns))]

    def _stations(self) -> Iterator[tuple[str, Station]]:
        return ((name, component) for name, component in self._components.items() if isinstance(component, Station))

    def run(self, turns: Turns, made: Made | None = None) -> Outputs:
        """Answer one wave. A failed item is a Failure in its position.

        :param made: called with the label and batch of each output as it is made, in the same thread.
        :raises RunError: if the run cannot continue (an unavailable store, a full disk).
        :raises ComponentFailed: if a component that is not a :class:`Station` raises.
        """
        data: dict[str, dict[str, Turns]] = {}
        for receiver in self.document.inputs.get("turns", []):
            node, _, socket = receiver.partition(".")
            data.setdefault(node, {})[socket] = turns
        senders = {label: sender.partition(".")[::2] for label, sender in self.document.outputs.items()}
        timings: dict[str, float] = {}
        labels = {node: label for label, (node, _) in senders.items()}
        token = TIMINGS.set(timings)
        watch = MADE.set(None if made is None else _by_label(made, labels))
        start = clock()
        try:
            results = self._graph.run(data, include_outputs_from=set(labels))
        finally:
            TIMINGS.reset(token)
            MADE.reset(watch)
        outputs = {label: results.get(node, {}).get(socket) for label, (node, socket) in senders.items()}
        timings["pipeline"] = clock() - start - sum(timings.values())
        return Outputs(timings=timings, **{label: outputs.get(label) for label in OUTPUTS})


def _by_label(made: Made, labels: Mapping[str, str]) -> Made:
    """Return a callback for node names, which calls ``made`` for nodes with a label."""
    return lambda node, batch: made(labels[node], batch) if node in labels else None


def load(
    pipeline: str | Path,
    settings: Mapping[str, Any] | None = None,
    llm: Llm | None = None,
    options: ModelOptions | None = None,
) -> Pipeline:
    """Load a pipeline, given a shipped name or a path.

    :param settings: ``node.param`` or ``node.type`` -> value. :param llm: rewrites questions or writes answers.
    :param options: how its models run, unless the pipeline says so.
    :raises InputError: naming file, node and parameter.
    """
    loaded = wire(compose(pipeline, settings, llm), str(pipeline))
    return wire(_with_options(loaded.document, options), str(pipeline)) if options else loaded


def wire(document: Document, name: str) -> Pipeline:
    """Create and connect the nodes of a resolved document.

    :raises InputError: naming all mistakes.
    """
    mistakes: list[str] = []
    graph = Graph(metadata=document.metadata)
    for key, node in document.components.items():
        try:
            graph.add_component(key, nodes.make(key, node))
        except (InputError, ValueError) as error:
            mistakes.append(str(error))
    if not mistakes:
        mistakes = [*_connect(graph, document), *_cycle(document)]
    if not mistakes:
        mistakes = [*_input_mistakes(graph, document), *_output_mistakes(graph, document)]
    if mistakes:
        raise InputError(f"pipeline {name}: " + " ".join(mistakes))
    return Pipeline(_with_defaults(document, graph), graph)


def _with_defaults(document: Document, graph: Graph) -> Document:
    """Write out all defaults, so that changing one makes another pipeline. The collection is not part of a pipeline."""
    components = {}
    for name, node in document.components.items():
        parameters = describe(graph.get_component(name))["init_parameters"]
        parameters.pop("collection", None)
        components[name] = Node(type=node.type, init_parameters=parameters)
    return document.model_copy(update={"components": components})


def _with_options(document: Document, options: ModelOptions) -> Document:
    """Return the pipeline with these options in every station with a parameter ``options``, nested stations too.

    Options that the pipeline sets itself take precedence.
    """
    components = {
        name: Node(**_set_options(node.model_dump(), options, name)) for name, node in document.components.items()
    }
    return document.model_copy(update={"components": components})


def _set_options(node: Mapping[str, Any], options: ModelOptions, name: str) -> dict[str, Any]:
    parameters = {
        key: _set_options(value, options, name) if isinstance(value, dict) and {"type", "init_parameters"} == set(value)
        else value
        for key, value in node["init_parameters"].items()
    }  # fmt: skip
    if "options" in parameters and issubclass(import_type(node["type"], name), Station):
        parameters["options"] = {**options, **(parameters["options"] or {})}
    return {"type": node["type"], "init_parameters": parameters}


def _connect(graph: Graph, document: Document) -> list[str]:
    mistakes = []
    for arrow in document.connections:
        try:
            graph.connect(arrow.sender, arrow.receiver)
        except (PipelineError, ValueError, KeyError) as error:
            mistakes.append(f"connections: {arrow.sender} -> {arrow.receiver}: {' '.join(str(error).split())}")
    return mistakes


def _cycle(document: Document) -> list[str]:
    try:
        document.in_order()
    except graphlib.CycleError as error:
        return [f"connections form a cycle: {' -> '.join(reversed(error.args[1]))}. Remove one of them."]
    return []


def _input_mistakes(graph: Graph, document: Document) -> list[str]:
    """Compare ``inputs:`` with the unconnected sockets, which Haystack would not report."""
    mistakes = [f"inputs.{name}: unknown input; expected turns." for name in document.inputs if name != "turns"]
    declared = set(document.inputs.get("turns", []))
    open_sockets = {
        f"{node}.{socket}": details
        for node, sockets in graph.inputs(include_components_with_connected_inputs=True).items()
        for socket, details in sockets.items()
    }
    fed = {arrow.receiver for arrow in document.connections}
    for receiver in sorted(declared):
        if receiver not in open_sockets:
            mistakes.append(f"inputs.turns: unknown socket {receiver!r}.{nearest(receiver, open_sockets)}")
        elif receiver in fed:
            mistakes.append(f"inputs.turns: {receiver} already has a connection.")
        elif open_sockets[receiver]["type"] is not Turns:
            mistakes.append(f"inputs.turns: {receiver} does not take turns.")
    for socket, details in sorted(open_sockets.items()):
        if details["is_mandatory"] and socket not in declared and socket not in fed:
            mistakes.append(f"{socket} has no connection. Connect it, or add it to inputs.")
    return mistakes


def _output_mistakes(graph: Graph, document: Document) -> list[str]:
    mistakes = []
    expected = f"expected some of {', '.join(OUTPUTS)}."
    if not document.outputs:
        mistakes.append(f"outputs: missing; {expected}")
    for label, sender in document.outputs.items():
        node, _, socket = sender.partition(".")
        if label not in OUTPUTS:
            mistakes.append(f"outputs.{label}: unknown output; {expected}{nearest(label, OUTPUTS)}")
        elif node not in document.components or socket not in nodes.outputs(graph.get_component(node)):
            mistakes.append(f"outputs.{label}: unknown socket {sender!r}.")
        elif nodes.outputs(graph.get_component(node))[socket].type is not OUTPUTS[label]:
            mistakes.append(f"outputs.{label}: {sender} does not return {label}.")
    return mistakes
