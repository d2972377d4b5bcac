"""Answer waves in worker processes. Each worker builds the pipeline once."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convqa.domain import Response, Turn
from convqa.driver.fingerprint import differences, fingerprint
from convqa.driver.waves import Submit, answer, patiently
from convqa.errors import InputError, RunError
from convqa.models.once import once
from convqa.pipeline.document import Document
from convqa.pipeline.load import Pipeline, wire
from convqa.workers import WorkerLost, Workers


def in_workers(workers: Workers, pipeline: Pipeline, mark: Mapping[str, Any], wait: float) -> Submit:
    """Return a function that answers waves in workers, retrying for ``wait`` seconds while a store is unavailable.

    :param pipeline: a pipeline bound to its collection. :param mark: the run's fingerprint.
    """
    url = pipeline.collection
    setup = _Setup(pipeline.document, str(Path(url).resolve()) if url and Path(url).exists() else url, mark)

    def ask(turns: Sequence[Turn]) -> list[Response]:
        try:
            return workers.call(setup.answer, turns)  # type: ignore[no-any-return]
        except WorkerLost as error:
            raise RunError(
                f"turns {turns[0].id} to {turns[-1].id} ({len(turns)} of one wave): {error}. Run again with fewer "
                "--workers if memory ran out; answered turns are kept."
            ) from error

    def submit(turns: Sequence[Turn]) -> Future[list[Response]]:
        return workers.submit(patiently, lambda: ask(turns), wait)

    return submit


@dataclass(frozen=True, slots=True)
class _Setup:
    """Builds the pipeline in a worker. ``mark``: the run's fingerprint, which the worker must reproduce."""

    document: Document
    collection: str | None
    mark: Mapping[str, Any]

    def answer(self, turns: Sequence[Turn]) -> list[Response]:
        """Answer a wave in this process, which keeps the pipeline."""
        pipeline = once(("pipeline", self.document.to_yaml(), self.collection), self._build)
        return [response.trimmed() for response in answer(pipeline, turns)]

    def _build(self) -> Pipeline:
        pipeline = wire(self.document, "of the run")
        if self.collection is not None:
            pipeline.bind(self.collection)
        pipeline.warm_up()
        settings = (self.mark[name] for name in ("history", "batch_size", "limit"))
        here = fingerprint(self.mark["task"], self.mark["input"], pipeline, *settings)
        if changed := differences(self.mark, here):
            raise InputError(
                f"the worker on {socket.gethostname()} differs from this process in: {', '.join(changed)}. "
                "Every machine needs the same versions, models and collection."
            )
        return pipeline
