"""The server: settings to loaded pipelines, and the application with its routes, middleware and services."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.security import HTTPBearer

import convqa
from convqa.components.encoding import ModelOptions
from convqa.errors import InputError
from convqa.indexing import collection_of
from convqa.pipeline.llm import Llm, read_llm
from convqa.pipeline.load import load
from convqa.pipeline.pipeline import Pipeline
from convqa.qa import ready
from convqa.server import adding, guard, mrqa, openai, page, turns
from convqa.server.access import Access
from convqa.server.config import LOOPBACK, ServerConfig
from convqa.server.conversations import Conversations, file_for
from convqa.server.listening import bound, serve
from convqa.server.service import Service

open_routes = APIRouter()


def create_app(
    config: ServerConfig,
    pipelines: Mapping[str, Pipeline],
    options: ModelOptions | None = None,
) -> FastAPI:
    """Create the application of a server.

    :param pipelines: served name -> pipeline, bound to its collection and loaded.
    :param options: how models run, where a pipeline does not say.
    :raises InputError: if a key or the conversations file cannot be read.
    """
    services = {name: Service(name, pipeline, config, options) for name, pipeline in pipelines.items()}
    file = config.kept.file
    if file is None:
        file = file_for(pipeline.collection for pipeline in pipelines.values() if pipeline.collection)
    conversations = Conversations(file, config.kept.days) if file else None

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
    app.state.access = Access(config)
    app.state.conversations = conversations
    # The key is checked by the routes; this declares it in the schema.
    keys = [Depends(HTTPBearer(auto_error=False))] if config.keys else []
    guarded = [turns.router, adding.router, openai.router]
    if config.is_local or config.keys:
        guarded.append(mrqa.router)
    for router in guarded:
        app.include_router(router, dependencies=keys)
    for router in (open_routes, page.router):
        app.include_router(router)
    app.state.routes = [route for router in (*guarded, open_routes, page.router) for route in router.routes]
    # Prevents DNS rebinding, by which the page of another site could read everything here.
    hosts = None
    if config.is_local and not config.keys:
        hosts = [host.lower() for host in (*LOOPBACK, config.host, *config.hosts)]
    app.add_middleware(
        guard.GuardMiddleware,
        max_bytes=config.limits.body_bytes,
        hosts=hosts,
        larger={"/api/documents": config.limits.document_bytes} if config.documents else {},
    )
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
        serve(create_app(config, pipelines, options), listener)


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
        pipeline = load(
            served.pipeline or name,
            {**settings, **served.set},
            own_llm,
            options,
        )
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
