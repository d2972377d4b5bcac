"""Metrics of a server for Prometheus. They name neither users nor questions."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from convqa.domain import Response

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter("convqa_requests", "Requests", ["route", "status"], registry=self._registry)
        self._latency = Histogram(
            "convqa_request_seconds",
            "Seconds to the end of a reply",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._stages = Histogram(
            "convqa_stage_seconds",
            "Seconds of a station, a turn's share of its batch",
            ["pipeline", "stage"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._batches = Histogram(
            "convqa_batch_turns",
            "Turns that were answered together",
            ["pipeline"],
            buckets=_BATCH_SIZES,
            registry=self._registry,
        )
        self._errors = Counter(
            "convqa_turn_errors",
            "Turns that failed",
            ["pipeline", "stage"],
            registry=self._registry,
        )

    def request(
        self,
        route: str,
        status: int,
        seconds: float,
    ) -> None:
        """Count a request, by its route's path or ``none``, and the time to the end of its reply."""
        self._requests.labels(route, status).inc()
        self._latency.labels(route).observe(seconds)

    def batch(self, pipeline: str, responses: Sequence[Response]) -> None:
        """Count an answered batch."""
        self._batches.labels(pipeline).observe(len(responses))
        for response in responses:
            for stage, seconds in response.timings.items():
                self._stages.labels(pipeline, stage).observe(seconds)
            if response.error is not None:
                self._errors.labels(pipeline, response.error.stage).inc()

    def text(self) -> bytes:
        """Return all metrics in Prometheus's format."""
        return generate_latest(self._registry)
