"""A server from its configuration: the address first, then the models, then the port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convqa.components.encoding import ModelOptions
from convqa.errors import InputError
from convqa.indexing import collection_of
from convqa.pipeline.llm import Llm, read_llm
from convqa.pipeline.load import Pipeline, load
from convqa.qa import ready
from convqa.server.app import create_app
from convqa.server.config import Served, ServerConfig
from convqa.server.listening import bound, serve


def run(
    config: ServerConfig, settings: Mapping[str, Any], llm: Llm | None = None, options: ModelOptions | None = None
) -> None:
    """Serve until a signal ends it.

    :param settings: of every pipeline, before its own. :param llm: of every pipeline that names none.
    :param options: how models run, where a pipeline does not say so.
    :raises InputError: for an address that is taken, or a pipeline or collection that does not exist.
    """
    with bound(config.host, config.port) as listener:
        pipelines = {
            name: _loaded(name, served, config, settings, llm, options) for name, served in config.pipelines.items()
        }
        serve(create_app(config, pipelines), listener)


def _loaded(
    name: str, served: Served, config: ServerConfig, settings: Mapping[str, Any], llm: Llm | None,
    options: ModelOptions | None,
) -> Pipeline:  # fmt: skip
    llm = read_llm(served.llm) if served.llm else llm
    made = load(served.pipeline or name, {**settings, **served.set}, llm, options)
    collection = served.collection or config.collection
    if collection is None and made.needs_collection:
        raise InputError(f"pipeline {name}: searches a collection; name one with --collection.")
    if "answers" not in made.stages:
        raise InputError(f"pipeline {name}: makes no answers; wanted one that does, such as talk.")
    return ready(made, None if collection is None else collection_of(collection))
