"""A server of files for tests: real HTTP on a port of its own, ranges as S3 gives them, and faults by a script.

``faults`` are used up one a request: an int is a status instead of the file, ``("cut", n)`` sends n bytes of what it
promised and breaks off, ``("stall", n)`` sends n bytes and then nothing more, ``"no ranges"`` sends all of it whatever
was asked, ``"other range"`` sends a range that was not asked for, ``"move"`` redirects once. None is no fault.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Fault = int | str | tuple[str, int] | None


class Server:
    """``files``: path -> content. ``asked``: (path, Range header) of every request."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: list[Fault] = []
        self.asked: list[tuple[str, str]] = []
        self.closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                asked = self.headers.get("Range", "")
                outer.asked.append((self.path, asked))
                assert self.headers["Accept-Encoding"] == "identity"
                fault = outer.faults.pop(0) if outer.faults else None
                data = outer.files.get(self.path)
                if isinstance(fault, int) or data is None:
                    self._send(fault if isinstance(fault, int) else 404, b"<html>no</html>")
                elif fault == "move":
                    self._send(302, b"", {"Location": self.path})
                else:
                    self._file(data, asked, fault)

            def _file(self, data: bytes, asked: str, fault: Fault) -> None:
                found = re.fullmatch(r"bytes=(\d+)-", asked)
                start = int(found[1]) if found and fault != "no ranges" else 0
                if start and start >= len(data):
                    self._send(416, b"", {"Content-Range": f"bytes */{len(data)}"})
                    return
                if fault == "other range":
                    start = 1
                headers = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if start else {}
                self._send(206 if start else 200, data[start:], headers, fault if isinstance(fault, tuple) else None)

            def _send(self, status: int, data: bytes, headers: Any = None, ends: tuple[str, int] | None = None) -> None:
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: ends[1]] if ends else data)
                self.close_connection = ends is not None
                if ends and ends[0] == "stall":
                    outer.closing.wait(60)

            def log_message(self, *args: object) -> None:
                """Nothing: what is asked is kept."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client may go away
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.close()
