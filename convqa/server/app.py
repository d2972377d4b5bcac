"""The server: settings to loaded pipelines, and the application with its routes, middleware and services."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware

import convqa
from convqa.components.encoding import ModelOptions
from convqa.domain import DEFAULT_LANGUAGE, Turn, TurnId
from convqa.domain import Response as TurnResponse
from convqa.driver.waves import answer
from convqa.errors import InputError, RunError
from convqa.indexing import collection_of
from convqa.pipeline.llm import Llm, read_llm
from convqa.pipeline.load import load
from convqa.pipeline.pipeline import Pipeline
from convqa.places import data_folder
from convqa.qa import ready
from convqa.server import guard, mrqa, openai, page, turns
from convqa.server.access import Access
from convqa.server.config import LOOPBACK, ServerConfig
from convqa.server.conversations import Conversations
from convqa.server.examples import examples
from convqa.server.listening import bound, serve
from convqa.server.metrics import Metrics
from convqa.server.service import RETRY_SECONDS, Service

_EXAMPLE_COUNT = 4

log = logging.getLogger("convqa")
open_routes = APIRouter()


def create_app(config: ServerConfig, pipelines: Mapping[str, Pipeline]) -> FastAPI:
    """Create the application of a server.

    :param pipelines: served name -> pipeline, bound to its collection and loaded.
    :raises InputError: if a key or the conversations file cannot be read.
    """
    metrics = Metrics()
    access = Access(config)
    services: dict[str, Service] = {}
    for name, pipeline in pipelines.items():
        service = Service(name, pipeline, config.batch, config.limits.waiting, metrics.batch)
        served = config.pipelines.get(name)
        if served and served.examples is not None:
            service.examples = served.examples
        elif not access.has_rules:
            service.examples = _examples(service)
        services[name] = service
    file = _conversations_file(services.values()) if config.conversations is None else config.conversations
    conversations = Conversations(file) if file else None

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        for service in services.values():
            service.start()
        yield
        for service in services.values():
            await service.stop()
        if conversations is not None:
            conversations.close()

    # FastAPI's documentation pages load scripts from another host, so only the schema is served.
    app = FastAPI(
        title="convqa",
        version=convqa.__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        exception_handlers=guard.HANDLERS,
    )
    app.state.config = config
    app.state.services = services
    app.state.metrics = metrics
    app.state.access = access
    app.state.conversations = conversations
    for router in (open_routes, turns.router, openai.router, page.router):
        app.include_router(router)
    if config.is_local or config.keys:
        app.include_router(mrqa.router)
    # Prevents DNS rebinding, by which the page of another site could read everything here.
    hosts = [*LOOPBACK, config.host, *config.hosts] if config.is_local and not config.keys else None
    app.add_middleware(guard.GuardMiddleware, max_bytes=config.limits.body_bytes, hosts=hosts, metrics=metrics)
    if config.cors:
        app.add_middleware(CORSMiddleware, allow_origins=config.cors, allow_methods=["*"], allow_headers=["*"])
    return app


def run(
    config: ServerConfig,
    settings: Mapping[str, Any],
    llm: Llm | None = None,
    options: ModelOptions | None = None,
) -> None:
    """Serve until a signal ends it.

    :param settings: defaults of every pipeline's own settings. :param llm: the default language model.
    :param options: how models run, where a pipeline does not say.
    :raises InputError: if the address is taken, or a pipeline or collection does not exist.
    """
    with bound(config.host, config.port) as listener:
        pipelines = load_pipelines(config, settings, llm, options)
        serve(create_app(config, pipelines), listener)


def load_pipelines(
    config: ServerConfig,
    settings: Mapping[str, Any],
    llm: Llm | None = None,
    options: ModelOptions | None = None,
) -> dict[str, Pipeline]:
    """Load the pipelines of a server, by served name. The parameters are those of :func:`run`."""
    pipelines = {}
    for name, served in config.pipelines.items():
        own_llm = read_llm(served.llm) if served.llm else llm
        pipeline = load(served.pipeline or name, {**settings, **served.set}, own_llm, options)
        collection = served.collection or config.collection
        if collection is None and pipeline.needs_collection:
            raise InputError(f"pipeline {name}: searches a collection; name one with --collection.")
        if "answers" not in pipeline.stages:
            raise InputError(f"pipeline {name}: expected a pipeline that writes answers, such as talk.")
        pipelines[name] = ready(pipeline, None if collection is None else collection_of(collection))
    return pipelines


@open_routes.head("/healthz", include_in_schema=False)
@open_routes.get("/healthz")
async def healthz() -> dict[str, str]:
    """Return 200 while the server runs."""
    return {"status": "ok"}


@open_routes.head("/readyz", include_in_schema=False)
@open_routes.get("/readyz")
async def readyz(request: Request) -> Response:
    """Return 200 if the server can answer, 503 while a collection's server is unavailable."""
    services: Mapping[str, Service] = request.app.state.services
    try:
        await run_in_threadpool(lambda: [service.pipeline.language for service in services.values()])
    except (RunError, Exception) as error:
        log.warning("not ready: %s", error)
        return Response('{"status":"unavailable"}', 503, {"Retry-After": RETRY_SECONDS}, "application/json")
    return Response('{"status":"ok"}', media_type="application/json")


@open_routes.get("/metrics")
async def metrics(request: Request) -> Response:
    """Requests, latencies by station, batch sizes and errors, for Prometheus."""
    return Response(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4")


def _conversations_file(services: Iterable[Service]) -> str:
    """Return the conversations file for the collections of these services. Each set of collections has its own."""
    locations = sorted({service.location for service in services} - {""})
    name = "conversations"
    if locations:
        name += "-" + hashlib.blake2b(os.fsencode("\n".join(locations)), digest_size=8).hexdigest()
    return str(data_folder() / f"{name}.sqlite")


def _examples(service: Service) -> list[str]:
    """Return example questions. Answers a question first, which warms the pipeline up."""
    pipeline = service.pipeline

    def ask(question: str) -> TurnResponse:
        return answer(pipeline, [Turn(TurnId("example", 1), question, language=service.language)])[0]

    store = service.store if service.language == DEFAULT_LANGUAGE else None
    try:
        ask("Is this ready?")
        # Does not try examples on a language model, which takes time and money.
        trial = None if pipeline.asks_a_server else ask
        return examples(store.scan(), trial, _EXAMPLE_COUNT) if store else []
    except RunError as error:
        log.warning("no example questions: %s", error)
        return []
