"""A pipeline that answers one wave of turns at a time, run by Haystack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.components.base import ON_OUTPUT, PARTIAL, TIMINGS, Station
from convqa.components.chat import ChatStation
from convqa.components.framework import Pipeline as HaystackPipeline
from convqa.domain import DEFAULT_LANGUAGE, Answers, Failure, Rankings, Readings, Rewrites, Turns
from convqa.domain.batches import Batch
from convqa.errors import InputError, RunError
from convqa.models.shared import clock
from convqa.pipeline.document import PipelineDocument, node_of
from convqa.stores import open_store
from convqa.workers.threads import threads

OUTPUTS: Mapping[str, type] = {
    "rewrites": Rewrites,
    "rankings": Rankings,
    "readings": Readings,
    "answers": Answers,
}

OnOutput = Callable[[str, Batch], None]
"""A callback that receives the label (``rewrites``, ``rankings`` ...) and batch of each output as it is made."""


class ComponentFailed(RunError):
    """A component with its own ``run`` raised, or returned a value that does not fit its turns.

    The driver turns this into failures of the turns; elsewhere it stops the run.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.stage} failed: {failure.message}")
        self.failure = failure


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

    def __init__(self, document: PipelineDocument, graph: HaystackPipeline) -> None:
        self.document = document
        self.graph = graph
        self.collection: str | None = None
        self._stations: dict[str, Station] = {}
        for name in document.components:
            component = graph.get_component(name)
            if isinstance(component, Station):
                self._stations[name] = component

    @property
    def stages(self) -> frozenset[str]:
        """The outputs of this pipeline, among rewrites, rankings, readings and answers."""
        return frozenset(self.document.outputs)

    @property
    def needs_collection(self) -> bool:
        """Whether a station of this pipeline requires a collection."""
        return any(station.needs_collection for station in self._stations.values())

    @property
    def models(self) -> dict[str, dict[str, str]]:
        """The identity of each node's models; nodes without models are omitted."""
        identities = {name: dict(station.identity()) for name, station in self._stations.items()}
        return {name: identity for name, identity in identities.items() if identity}

    @property
    def asks_a_server(self) -> bool:
        """Whether a station waits for the server of a language model."""
        members = [member for station in self._stations.values() for member in (station, *station.inner)]
        return any(isinstance(member, ChatStation) for member in members)

    @property
    def language(self) -> str:
        """The language of the collection, or the default language without a collection."""
        if self.collection is None:
            return DEFAULT_LANGUAGE
        return open_store(self.collection).info().language

    def bind(self, collection: str) -> None:
        """Make every station search the collection with this URL. Call this before ``warm_up``."""
        self.collection = collection
        for station in self._stations.values():
            station.bind(collection)

    def to_haystack(self, collection: str | None = None) -> str:
        """Return this pipeline as YAML for Haystack's loader, resolved and with the collection, as an absolute path.

        :raises InputError: without a collection, if a station requires one.
        """
        if collection is None and self.needs_collection:
            raise InputError("the pipeline needs a collection in Haystack's YAML: add --collection.")
        if collection and Path(collection).exists():
            collection = str(Path(collection).resolve())
        components = dict(self.document.components)
        for name, station in self._stations.items():
            if collection is not None and hasattr(station, "collection"):
                components[name] = components[name].having(collection=collection)
        return self.document.model_copy(update={"components": components}).to_haystack()

    def warm_up(self) -> None:
        """Open the collection and load the models, so that missing ones are reported early."""
        with ThreadPoolExecutor(threads()) as pool:
            list(pool.map(lambda station: station.warm_up(), self._stations.values()))
        self.graph.warm_up()

    def run(self, turns: Turns, on_output: OnOutput | None = None) -> Outputs:
        """Answer one wave. A failed item is a Failure in its position.

        :param on_output: called with the label and batch of each output as it is made. A language model's answer to a
            single turn is streamed: the label ``partial`` has its sentences so far, and comes from another thread.
        :raises RunError: if the run cannot continue (an unavailable store, a full disk).
        :raises ComponentFailed: if a component that is not a :class:`Station` raises.
        """
        data: dict[str, dict[str, Turns]] = {}
        for receiver in self.document.inputs.get("turns", []):
            node, _, socket = receiver.partition(".")
            data.setdefault(node, {})[socket] = turns
        labels = {node_of(sender): label for label, sender in self.document.outputs.items()}

        def by_label(node: str, batch: Batch) -> None:
            label = labels.get(node, node if node == PARTIAL else None)
            if on_output is not None and label is not None:
                on_output(label, batch)

        timings: dict[str, float] = {}
        timings_token = TIMINGS.set(timings)
        callback_token = ON_OUTPUT.set(by_label if on_output else None)
        start = clock()
        try:
            results = self.graph.run(data, include_outputs_from=set(labels))
        finally:
            TIMINGS.reset(timings_token)
            ON_OUTPUT.reset(callback_token)
        batches: dict[str, Any] = dict.fromkeys(OUTPUTS)
        for label, sender in self.document.outputs.items():
            node, _, socket = sender.partition(".")
            batches[label] = results.get(node, {}).get(socket)
        timings["pipeline"] = clock() - start - sum(timings.values())
        return Outputs(timings=timings, **batches)
