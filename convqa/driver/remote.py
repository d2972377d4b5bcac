"""Waves that workers answer: each builds the pipeline once, and gives back what the journal keeps."""

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
    """Let workers answer waves; while a store is away, again and again for ``wait`` seconds.

    :param pipeline: bound to its collection. :param mark: the run's fingerprint.
    """
    place = pipeline.collection
    setup = _Setup(pipeline.document, str(Path(place).resolve()) if place and Path(place).exists() else place, mark)

    def ask(turns: Sequence[Turn]) -> list[Response]:
        try:
            return workers.call(setup.answer, turns)  # type: ignore[no-any-return]
        except WorkerLost as error:
            raise RunError(
                f"turns {turns[0].id} to {turns[-1].id} ({len(turns)} of one wave): {error}. Run again with fewer "
                "--workers if memory ran out; what was answered is kept."
            ) from error

    def submit(turns: Sequence[Turn]) -> Future[list[Response]]:
        return workers.submit(patiently, lambda: ask(turns), wait)

    return submit


@dataclass(frozen=True, slots=True)
class _Setup:
    """What a worker builds the pipeline from. ``mark``: the run's fingerprint, which has to be the same there."""

    document: Document
    collection: str | None
    mark: Mapping[str, Any]

    def answer(self, turns: Sequence[Turn]) -> list[Response]:
        """Answer a wave in this process, where the pipeline stays for the next one."""
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
                f"the worker on {socket.gethostname()} has another {', another '.join(changed)} than this process. "
                "Wanted: the same versions, models and collection on every machine."
            )
        return pipeline
