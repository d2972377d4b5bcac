"""Metrics of a server for Prometheus. They name neither users nor questions."""

from __future__ import annotations

import time
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from convqa.domain import Response

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120)


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter("convqa_requests", "Requests", ["route", "status"], registry=self._registry)
        self.latency = Histogram(
            "convqa_request_seconds", "Seconds to the end of a reply", ["route"],
            buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip
        self._stages = Histogram(
            "convqa_stage_seconds", "Seconds of a station, a turn's share of its batch", ["pipeline", "stage"],
            buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip
        self._batches = Histogram(
            "convqa_batch_turns", "Turns that were answered together", ["pipeline"],
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256), registry=self._registry,
        )  # fmt: skip
        self._errors = Counter(
            "convqa_turn_errors", "Turns that failed", ["pipeline", "stage"], registry=self._registry
        )

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


class Measured:
    """Middleware that counts requests by route and status, and measures the time to the end of the reply."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = 500, time.perf_counter()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.requests.labels(route, status).inc()
            self._metrics.latency.labels(route).observe(time.perf_counter() - start)
