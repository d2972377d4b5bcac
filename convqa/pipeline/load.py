"""A resolved document, wired as a Haystack pipeline and run on one wave of turns at a time."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.components.base import MADE, TIMINGS, Station
from convqa.components.chat import Asking
from convqa.components.encoding import ModelOptions
from convqa.components.framework import Pipeline as Graph
from convqa.components.framework import PipelineError
from convqa.components.members import describe
from convqa.domain import DEFAULT_LANGUAGE, Answers, Rankings, Readings, Rewrites, Turns
from convqa.domain.batches import Batch
from convqa.errors import InputError, nearest
from convqa.models.shared import clock
from convqa.pipeline import nodes
from convqa.pipeline.compose import compose
from convqa.pipeline.document import Document, Node
from convqa.pipeline.llm import Llm
from convqa.pipeline.model_options import with_options
from convqa.stores import open_store

OUTPUTS: Mapping[str, type] = {"rewrites": Rewrites, "rankings": Rankings, "readings": Readings, "answers": Answers}


Made = Callable[[str, Batch], None]
"""Is told of an output (``rewrites``, ``rankings`` ...) while the pipeline goes on."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """The results of one run of a pipeline, None for stages that it lacks; ``timings`` are seconds by node."""

    rewrites: Rewrites | None
    rankings: Rankings | None
    readings: Readings | None
    answers: Answers | None
    timings: Mapping[str, float]


class Pipeline:
    """A pipeline that answers turns. Stateless: it may answer many conversations at once and never mixes them."""

    def __init__(self, document: Document, graph: Graph) -> None:
        self.document = document
        self.collection: str | None = None
        self._graph = graph
        self._made = {name: graph.get_component(name) for name in document.components}

    @property
    def stages(self) -> frozenset[str]:
        """Which of rewrites, rankings, readings and answers this pipeline makes."""
        return frozenset(self.document.outputs)

    @property
    def needs_collection(self) -> bool:
        """Whether a station of this pipeline cannot work without a collection."""
        return any(getattr(component, "needs_collection", False) for component in self._made.values())

    @property
    def models(self) -> dict[str, dict[str, str]]:
        """By node, what identifies the models that it runs; nodes without models are left out."""
        return {name: dict(identity) for name, station in self._stations() if (identity := station.identity())}

    @property
    def asks_a_server(self) -> bool:
        """Whether a station waits for the server of a language model."""
        return any(
            isinstance(member, Asking) for _, station in self._stations() for member in (station, *station.inner)
        )

    @property
    def language(self) -> str:
        """The language of the collection; the default one where there is none."""
        return DEFAULT_LANGUAGE if self.collection is None else open_store(self.collection).info().language

    @property
    def graph(self) -> Graph:
        """The same pipeline as Haystack has it, for others to build on."""
        return self._graph

    def bind(self, collection: str) -> None:
        """Let every station that searches search this collection, named by its URL. Comes before ``warm_up``."""
        self.collection = collection
        for _, station in self._stations():
            station.bind(collection)

    def to_haystack(self, collection: str | None = None) -> str:
        """This pipeline as YAML for Haystack's own loader: nothing to resolve, and its collection named.

        A folder or file is named by its whole path, wherever Haystack runs.

        :raises InputError: without a collection, if a station needs one.
        """
        if collection is None and self.needs_collection:
            raise InputError("the pipeline needs a collection to write into Haystack's YAML: give --collection.")
        place = str(Path(collection).resolve()) if collection and Path(collection).exists() else collection
        components = dict(self.document.components)
        for name, station in self._stations():
            if place is not None and hasattr(station, "collection"):
                node = components[name]
                components[name] = Node(type=node.type, init_parameters=node.init_parameters | {"collection": place})
        return self.document.model_copy(update={"components": components}).to_yaml()

    def warm_up(self) -> None:
        """Open the collection and load models, so that what is missing is said before the work starts."""
        self._graph.warm_up()

    def forecast(self, turns: int) -> list[str]:
        """The warnings of all stations for the user, before so many turns are answered."""
        return [f"{name}: {said}" for name, station in self._stations() if (said := station.forecast(turns))]

    def _stations(self) -> Iterator[tuple[str, Station]]:
        """The nodes that are stations of ours, by name."""
        return ((name, made) for name, made in self._made.items() if isinstance(made, Station))

    def run(self, turns: Turns, made: Made | None = None) -> Outputs:
        """Answer one wave. Item errors come back as Failures in place.

        :param made: is called with each output's label and batch as soon as there is one, from the same thread.
        :raises RunError: if the run as a whole cannot go on (a store that is away, a disk that is full).
        :raises ComponentFailed: if a component that is no station of ours raised.
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
        found = {label: results.get(node, {}).get(socket) for label, (node, socket) in senders.items()}
        timings["pipeline"] = clock() - start - sum(timings.values())
        return Outputs(timings=timings, **{label: found.get(label) for label in OUTPUTS})


def _by_label(made: Made, labels: Mapping[str, str]) -> Made:
    """The same for nodes' names; it is not told of nodes that give no output."""
    return lambda node, batch: made(labels[node], batch) if node in labels else None


def load(
    pipeline: str | Path,
    settings: Mapping[str, Any] | None = None,
    llm: Llm | None = None,
    options: ModelOptions | None = None,
) -> Pipeline:
    """Load a pipeline by shipped name or path.

    :param settings: ``node.param`` or ``node.type`` -> value. :param llm: what rewrites its questions, or answers them.
    :param options: how its models run, where the pipeline does not say so.
    :raises InputError: naming file, node and parameter.
    """
    made = wire(compose(pipeline, settings, llm), str(pipeline))
    return wire(with_options(made.document, options), str(pipeline)) if options else made


def wire(document: Document, name: str) -> Pipeline:
    """Make and connect the nodes of a resolved document; the mistakes in it are raised as one."""
    pipeline, mistakes = assemble(document)
    if pipeline is None:
        raise InputError(f"pipeline {name}: " + " ".join(mistakes))
    return pipeline


def assemble(document: Document) -> tuple[Pipeline | None, list[str]]:
    """The pipeline, or every mistake in its document at once."""
    mistakes: list[str] = []
    graph = Graph(metadata=document.metadata)
    for name, node in document.components.items():
        try:
            graph.add_component(name, nodes.make(name, node))
        except (InputError, ValueError) as error:
            mistakes.append(str(error))
    if not mistakes:
        mistakes = [*_connect(graph, document), *_circle(document)]
    if not mistakes:
        mistakes = [*_inputs(graph, document), *_outputs(graph, document)]
    return (None, mistakes) if mistakes else (Pipeline(_complete(document, graph), graph), [])


def _complete(document: Document, graph: Graph) -> Document:
    """The document with every parameter of every node, defaults too, so that a changed default is another pipeline.

    The collection is left out: it is no part of a pipeline.
    """
    components = {}
    for name, node in document.components.items():
        parameters = describe(graph.get_component(name))["init_parameters"]
        parameters.pop("collection", None)
        components[name] = Node(type=node.type, init_parameters=parameters)
    return document.model_copy(update={"components": components})


def _connect(graph: Graph, document: Document) -> list[str]:
    mistakes = []
    for arrow in document.connections:
        try:
            graph.connect(arrow.sender, arrow.receiver)
        except (PipelineError, ValueError, KeyError) as error:
            mistakes.append(f"connections: {arrow.sender} -> {arrow.receiver}: {' '.join(str(error).split())}")
    return mistakes


def _circle(document: Document) -> list[str]:
    try:
        document.in_order()
    except graphlib.CycleError as error:
        return [f"connections go in a circle: {' -> '.join(reversed(error.args[1]))}; a turn must come to an end."]
    return []


def _inputs(graph: Graph, document: Document) -> list[str]:
    """Compare ``inputs:`` with the sockets that no arrow feeds: Haystack would feed or starve them in silence."""
    mistakes = [f"inputs.{name}: the driver gives turns, nothing else." for name in document.inputs if name != "turns"]
    declared = set(document.inputs.get("turns", []))
    open_sockets = {
        f"{node}.{socket}": details
        for node, sockets in graph.inputs(include_components_with_connected_inputs=True).items()
        for socket, details in sockets.items()
    }
    fed = {arrow.receiver for arrow in document.connections}
    for receiver in sorted(declared):
        if receiver not in open_sockets:
            mistakes.append(f"inputs.turns: there is no socket {receiver!r}.{nearest(receiver, open_sockets)}")
        elif receiver in fed:
            mistakes.append(f"inputs.turns: {receiver} is fed by a connection already.")
        elif open_sockets[receiver]["type"] is not Turns:
            mistakes.append(f"inputs.turns: {receiver} does not take turns.")
    for socket, details in sorted(open_sockets.items()):
        if details["is_mandatory"] and socket not in declared and socket not in fed:
            mistakes.append(f"{socket} is not connected and not named under inputs: it would wait for ever.")
    return mistakes


def _outputs(graph: Graph, document: Document) -> list[str]:
    mistakes = []
    if not document.outputs:
        mistakes.append(f"outputs: nothing is named; wanted are some of {', '.join(OUTPUTS)}.")
    for label, sender in document.outputs.items():
        node, _, socket = sender.partition(".")
        if label not in OUTPUTS:
            mistakes.append(f"outputs.{label} is not known.{nearest(label, OUTPUTS)} Wanted are: {', '.join(OUTPUTS)}.")
        elif node not in document.components or socket not in nodes.outputs(graph.get_component(node)):
            mistakes.append(f"outputs.{label}: there is no socket {sender!r}.")
        elif nodes.outputs(graph.get_component(node))[socket].type is not OUTPUTS[label]:
            mistakes.append(f"outputs.{label}: {sender} does not give {label}.")
    return mistakes
