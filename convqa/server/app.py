"""The application: pipelines behind their queues, and the routes in front of them."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware

import convqa
from convqa.domain import DEFAULT_LANGUAGE, Turn, TurnId
from convqa.domain import Response as Answered
from convqa.driver.waves import answer
from convqa.errors import RunError
from convqa.pipeline.load import Pipeline
from convqa.places import data_folder
from convqa.server import guard, mrqa, openai, page, turns
from convqa.server.access import Access
from convqa.server.config import LOOPBACK, ServerConfig
from convqa.server.conversations import Conversations
from convqa.server.examples import examples
from convqa.server.metrics import Measured, Metrics
from convqa.server.service import Service

_EXAMPLES = 4

log = logging.getLogger("convqa")
open_routes = APIRouter()


def create_app(config: ServerConfig, pipelines: Mapping[str, Pipeline]) -> FastAPI:
    """The application of a server.

    :param pipelines: bound to their collections and warm, by the names that they are served as.
    :raises InputError: for keys or a file of conversations that cannot be read.
    """
    metrics, limits = Metrics(), config.limits
    services = {
        name: Service(name, pipeline, config.batch, limits.waiting, metrics.batch)
        for name, pipeline in pipelines.items()
    }

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        for service in services.values():
            service.start()
        yield
        for service in services.values():
            await service.stop()
        if app.state.conversations is not None:
            app.state.conversations.close()

    # The pages that show a schema come from another host: only the schema itself is served.
    app = FastAPI(title="convqa", version=convqa.__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.config, app.state.services, app.state.metrics = config, services, metrics
    app.state.access = Access(config)
    file = _file_of(services.values()) if config.conversations is None else config.conversations
    app.state.conversations = Conversations(file) if file else None
    for name, service in services.items():
        given = config.pipelines[name].examples if name in config.pipelines else None
        service.examples = _examples(service) if given is None and not app.state.access.has_rules else given or []
    routers = [open_routes, turns.router, openai.router, page.router]
    if config.is_local or config.keys:
        routers.append(mrqa.router)
    for router in routers:
        app.include_router(router)
    guard.install(app)
    # Else another site's name could be made to point at this machine, and its page would read everything here.
    hosts = [*LOOPBACK, config.host, *config.hosts] if config.is_local and not config.keys else None
    app.add_middleware(guard.Guard, most=limits.body_bytes, hosts=hosts)
    if config.cors:
        app.add_middleware(CORSMiddleware, allow_origins=config.cors, allow_methods=["*"], allow_headers=["*"])
    app.add_middleware(Measured, metrics=metrics)
    return app


@open_routes.head("/healthz", include_in_schema=False)
@open_routes.get("/healthz")
async def healthz() -> dict[str, str]:
    """Whether the server runs."""
    return {"status": "ok"}


@open_routes.head("/readyz", include_in_schema=False)
@open_routes.get("/readyz")
async def readyz(request: Request) -> Response:
    """Whether it can answer: 503 while a collection's server is away."""
    services: Mapping[str, Service] = request.app.state.services
    try:
        await run_in_threadpool(lambda: [service.pipeline.language for service in services.values()])
    except (RunError, Exception) as error:
        log.warning("not ready: %s", error)
        return Response('{"status":"unavailable"}', 503, {"Retry-After": "5"}, "application/json")
    return Response('{"status":"ok"}', media_type="application/json")


@open_routes.get("/metrics")
async def metrics(request: Request) -> Response:
    """Requests, latencies by station, batch sizes and errors, for Prometheus."""
    return Response(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4")


def _file_of(services: Iterable[Service]) -> str:
    """Where conversations over the collections of these services are kept; those over others stand in other files."""
    places = sorted({service.place for service in services} - {""})
    name = hashlib.blake2b(os.fsencode("\n".join(places)), digest_size=8).hexdigest()
    return str(data_folder() / (f"conversations-{name}.sqlite" if places else "conversations.sqlite"))


def _examples(service: Service) -> list[str]:
    """Questions to begin with; the pipeline has then answered once, and nothing is cold any more."""
    pipeline = service.pipeline

    def ask(question: str) -> Answered:
        return answer(pipeline, [Turn(TurnId("example", 1), question, language=service.language)])[0]

    try:
        store = service.store if service.language == DEFAULT_LANGUAGE else None
        if pipeline.asks_a_server or store is None:
            ask("Is this ready?")
        # Questions to a language model are waited for and paid for: one is enough.
        tried = None if pipeline.asks_a_server else ask
        return [] if store is None else examples(store.scan(), tried, _EXAMPLES)
    except RunError as error:
        log.warning("no example questions: %s", error)
        return []
