"""Waves that are answered by workers: each builds the pipeline once, and gives back what the journal keeps."""

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
class Setup:
    """What a worker builds the pipeline of: its document, and the URL of its collection.

    ``mark`` is the run's fingerprint, which the pipeline has to have on the worker's machine too.
    """

    document: Document
    collection: str | None
    mark: Mapping[str, Any]

    @classmethod
    def of(cls, pipeline: Pipeline, mark: Mapping[str, Any]) -> Setup:
        place = pipeline.collection
        if place is not None and Path(place).exists():
            place = str(Path(place).resolve())
        return cls(pipeline.document, place, mark)


class Remote:
    """Answers waves in workers."""

    def __init__(self, workers: Workers, setup: Setup) -> None:
        self.workers = workers.count
        self._workers, self._setup = workers, setup

    def submit(self, turns: Sequence[Turn], wait: float) -> Future[list[Response]]:
        return self._workers.submit(patiently, lambda: self._ask(turns), wait)

    def _ask(self, turns: Sequence[Turn]) -> list[Response]:
        try:
            made: list[Response] = self._workers.call(answer_wave, self._setup, turns)
        except WorkerLost as error:
            raise RunError(
                f"turns {turns[0].id} to {turns[-1].id} ({len(turns)} of one wave): {error}. Run again with fewer "
                "--workers if memory ran out; what was answered is kept."
            ) from error
        return made


def answer_wave(setup: Setup, turns: Sequence[Turn]) -> list[Response]:
    """Answer a wave in this process, whose pipeline stays for the next one."""
    key = ("pipeline", setup.document.to_yaml(), setup.collection)
    pipeline: Pipeline = once(key, lambda: _build(setup))
    return [response.trimmed() for response in answer(pipeline, turns)]


def _build(setup: Setup) -> Pipeline:
    pipeline = wire(setup.document, "of the run")
    if setup.collection is not None:
        pipeline.bind(setup.collection)
    pipeline.warm_up()
    mark = setup.mark
    settings = (mark[name] for name in ("history", "batch_size", "limit"))
    here = fingerprint(mark["task"], mark["input"], pipeline, *settings)
    if changed := differences(mark, here):
        raise InputError(
            f"the worker on {socket.gethostname()} has another {', another '.join(changed)} than this process. Wanted: "
            "the same versions, models and collection on every machine."
        )
    return pipeline
