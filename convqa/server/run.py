"""A server from its configuration: the address first, then the models, then the port."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import uvicorn

from convqa.errors import InputError
from convqa.indexing import collection_of
from convqa.pipeline.llm import Llm, read_llm
from convqa.pipeline.load import Pipeline, load
from convqa.qa import ready
from convqa.server.app import create_app
from convqa.server.config import Served, ServerConfig

_GRACE = 30
"""Seconds that are left to what was asked before the end."""


class _Server(uvicorn.Server):
    """Says where it listens when it does."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            print(f"Answering on http://{f'[{host}]' if ':' in host else host}:{port}/ (Ctrl-C ends it)", flush=True)


def run(config: ServerConfig, settings: Mapping[str, Any], llm: Llm | None = None) -> None:
    """Serve until a signal ends it.

    :param settings: of every pipeline, before its own. :param llm: of every pipeline that names none.
    :raises InputError: for an address that is taken, or a pipeline or collection that does not exist.
    """
    with _bound(config.host, config.port) as listener:
        pipelines = {name: _loaded(name, served, config, settings, llm) for name, served in config.pipelines.items()}
        app = create_app(config, pipelines)
        uvicorn_log = logging.getLogger("uvicorn")
        uvicorn_log.handlers, uvicorn_log.propagate = logging.getLogger("convqa").handlers, False
        options = uvicorn.Config(
            app, log_config=None, log_level="warning", access_log=False, server_header=False,
            timeout_graceful_shutdown=_GRACE,
        )  # fmt: skip
        with _mistakes(config.host, config.port):
            _Server(options).run([listener])


def _bound(host: str, port: int) -> socket.socket:
    """The address, taken before anything is loaded; it listens later."""
    with _mistakes(host, port):
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
        return listener


@contextmanager
def _mistakes(host: str, port: int) -> Iterator[None]:
    try:
        yield
    except (OSError, UnicodeError) as error:  # the latter: what can be no name of a host
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(
            f"{host}, port {port}: cannot be listened to ({reason}); choose another port or --host, 0 for a free port."
        ) from error


def _loaded(name: str, served: Served, config: ServerConfig, settings: Mapping[str, Any], llm: Llm | None) -> Pipeline:
    made = load(served.pipeline or name, {**settings, **served.set}, read_llm(served.llm) if served.llm else llm)
    collection = served.collection or config.collection
    if collection is None and made.needs_collection:
        raise InputError(f"pipeline {name}: searches a collection; name one with --collection.")
    if "answers" not in made.stages:
        raise InputError(f"pipeline {name}: makes no answers; wanted one that does, such as talk.")
    return ready(made, None if collection is None else collection_of(collection))
