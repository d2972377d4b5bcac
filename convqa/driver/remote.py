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
from convqa.driver.waves import answer, patiently
from convqa.errors import InputError, RunError
from convqa.models.once import once
from convqa.pipeline.document import Document
from convqa.pipeline.load import Pipeline, wire
from convqa.workers import WorkerLost, Workers


@dataclass(frozen=True, slots=True)
class Remote:
    """Answers waves in workers."""

    workers: Workers
    setup: Setup
    wait: float

    @classmethod
    def of(cls, pipeline: Pipeline, mark: Mapping[str, Any], workers: Workers, wait: float) -> Remote:
        """:param pipeline: bound to its collection. :param mark: the run's fingerprint."""
        place = pipeline.collection
        whole = str(Path(place).resolve()) if place and Path(place).exists() else place
        return cls(workers, Setup(pipeline.document, whole, mark), wait)

    def submit(self, turns: Sequence[Turn]) -> Future[list[Response]]:
        """Let a worker answer a wave; while a store is away, again and again for ``wait`` seconds."""
        return self.workers.submit(patiently, lambda: self._ask(turns), self.wait)

    def _ask(self, turns: Sequence[Turn]) -> list[Response]:
        try:
            made: list[Response] = self.workers.call(self.setup.answer, turns)
        except WorkerLost as error:
            raise RunError(
                f"turns {turns[0].id} to {turns[-1].id} ({len(turns)} of one wave): {error}. Run again with fewer "
                "--workers if memory ran out; what was answered is kept."
            ) from error
        return made


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker builds the pipeline of. ``mark``: the run's fingerprint, which it must have there, too."""

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
