"""Bind an address and serve an application there until a signal ends it."""

from __future__ import annotations

import logging
import os
import socket
import threading
from typing import Any

import uvicorn

from convqa.errors import InputError

GRACE_SECONDS = 30
"""Time that requests in progress have at shutdown."""


MAX_HEADER_BYTES = 65_536
"""Bytes of a request's headers. More are refused in words."""
_MAX_BUFFERED_BYTES = 1_000_000
"""Bytes of headers that are read at all. A request with more is cut off."""


def bound(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address, which does not listen yet.

    :raises InputError: if the address is taken or does not exist.
    """
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        return listener
    except (OSError, UnicodeError) as error:  # UnicodeError: a malformed host name
        if listener is not None:
            listener.close()
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(
            f"cannot listen on {host}, port {port} ({reason}). Choose another --port (0: any free port) or --host."
        ) from error


class _Server(uvicorn.Server):
    """Says where it listens once it has started, so that a signal after that ends it without a word."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            if ":" in host:
                host = f"[{host}]"
            print(f"Listening on http://{host}:{port}/ (Ctrl-C to stop)", flush=True)


def serve(app: Any, listener: socket.socket) -> None:
    """Serve an application until a signal ends it."""
    log = logging.getLogger("uvicorn")
    log.handlers = logging.getLogger("convqa").handlers
    log.propagate = False
    options = uvicorn.Config(
        app,
        http="h11",
        h11_max_incomplete_event_size=_MAX_BUFFERED_BYTES,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = _Server(options)
    listener.listen(options.backlog)
    try:
        server.run([listener])
    finally:
        if threading.active_count() > 1 and server.should_exit:
            # Work that exceeds the grace period, such as a language model's, must not keep the process alive.
            threading.Timer(1, os._exit, [143]).start()
