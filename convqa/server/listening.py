"""An address, and an application behind it, until a signal ends it."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from convqa.errors import InputError

GRACE = 30
"""Seconds that are left to what was asked before the end."""


class _Server(uvicorn.Server):
    """Says where it listens when it does."""

    path = "/"

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            place = f"http://{f'[{host}]' if ':' in host else host}:{port}{self.path}"
            print(f"Answering on {place} (Ctrl-C ends it)", flush=True)


def bound(host: str, port: int) -> socket.socket:
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


def serve(app: Any, listener: socket.socket, path: str = "/") -> None:
    """Serve an application at an address until a signal ends it. :param path: where it is, as the user is told."""
    log = logging.getLogger("uvicorn")
    log.handlers, log.propagate = logging.getLogger("convqa").handlers, False
    options = uvicorn.Config(
        app, log_config=None, log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=GRACE,
    )  # fmt: skip
    server = _Server(options)
    server.path = path
    with _mistakes(*listener.getsockname()[:2]):
        try:
            server.run([listener])
        finally:
            if threading.active_count() > 1 and server.should_exit:
                # Work that outlived its grace would hold the process until it ends, which a language model's may not.
                threading.Timer(1, os._exit, [143]).start()
