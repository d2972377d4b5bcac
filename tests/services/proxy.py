"""A proxy before a real server, for tests: real HTTP on a port of its own, and faults by a script.

``script(path, number)`` is asked at every request, ``number`` counting those whose path ends alike (``_msearch`` ...),
and says what happens to it: None passes it on; a float waits so many seconds first; an int is a status in the words of
Elasticsearch; ``"half"`` breaks off in the middle of the answer's body; ``"garbled"`` sends the first half of the body
as if it were whole; ``"page"`` answers with a page of HTML, as a load balancer does; ``"break"`` closes the connection.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

Fault = int | float | str | None
Script = Callable[[str, int], Fault]

_PAGE = b"<html><body>The service is being maintained.</body></html>"
_OF_ONE_CONNECTION = {"transfer-encoding", "connection", "content-length", "content-encoding", "keep-alive"}


class Proxy:
    """``counts``: requests by the last part of their path. ``stop`` and ``start``: nothing listens in between."""

    def __init__(self, server: str) -> None:
        target = urlsplit(server)
        self.script: Script = lambda path, number: None
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path = urlsplit(self.path).path.rpartition("/")[2]
                with outer._lock:
                    outer.counts[path] += 1
                    number = outer.counts[path]
                fault = outer.script(path, number)
                if isinstance(fault, float):
                    time.sleep(fault)
                if fault == "break" or outer._stopped:
                    self.close_connection = True
                elif isinstance(fault, int):
                    error = {"type": "es_rejected_execution_exception", "reason": "told to fail"}
                    data = json.dumps({"error": error, "status": fault}).encode()
                    self._send(fault, data, {"Content-Type": "application/json"})
                elif fault == "page":
                    self._send(200, _PAGE, {"Content-Type": "text/html"})
                else:
                    self._forward(body, fault)

            def _forward(self, body: bytes, fault: Fault) -> None:
                client = http.client.HTTPConnection(str(target.hostname), target.port, timeout=120)
                headers = {name: value for name, value in self.headers.items() if name.lower() != "accept-encoding"}
                try:
                    client.request(self.command, self.path, body, headers)
                    answer = client.getresponse()
                    data = answer.read()
                except (OSError, http.client.HTTPException):
                    self.close_connection = True
                    return
                finally:
                    client.close()
                kept = {name: value for name, value in answer.getheaders() if name.lower() not in _OF_ONE_CONNECTION}
                if fault == "garbled":
                    data = data[: len(data) // 2]
                self._send(answer.status, data, kept, len(data) // 2 if fault == "half" else None)

            def _send(self, status: int, data: bytes, headers: dict[str, str], cut: int | None = None) -> None:
                self.send_response_only(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data[:cut])
                self.close_connection = self.close_connection or cut is not None

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass

            def log_message(self, *args: object) -> None:
                """Nothing."""

        self._handler = Handler
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        """As convqa names a server, without an index."""
        return f"elasticsearch://127.0.0.1:{self._port}"

    def start(self) -> None:
        self._stopped = False
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), self._handler)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client may go away
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        self._stopped = True
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def proxying(server: str) -> Iterator[Proxy]:
    """A proxy for the duration of a ``with``; ``server`` as convqa names it."""
    proxy = Proxy(server.replace("elasticsearch://", "http://"))
    try:
        yield proxy
    finally:
        proxy.stop()
