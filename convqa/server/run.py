"""Run a server from its settings: bind the address, load the pipelines, then listen."""

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

    :param settings: defaults of every pipeline's own settings. :param llm: the default language model.
    :param options: how models run, where a pipeline does not say.
    :raises InputError: if the address is taken, or a pipeline or collection does not exist.
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
    pipeline = load(served.pipeline or name, {**settings, **served.set}, llm, options)
    collection = served.collection or config.collection
    if collection is None and pipeline.needs_collection:
        raise InputError(f"pipeline {name}: searches a collection; name one with --collection.")
    if "answers" not in pipeline.stages:
        raise InputError(f"pipeline {name}: expected a pipeline that writes answers, such as talk.")
    return ready(pipeline, None if collection is None else collection_of(collection))
