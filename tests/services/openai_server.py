"""A server of OpenAI's chat completions for tests: real HTTP on a port of its own, replies by a script.

What it was asked is kept in ``requests``; what it replies is made by ``reply(prompt, number)``: a
string is the message's text, an int a status, a float seconds to wait before ``"slow"``, bytes a whole body, a tuple a
status with headers, and an iterator the parts of a stream.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
Reply = str | int | float | bytes | tuple[int, dict[str, str]] | Iterator[str]


class Server:
    """Counts what runs at the same time, so that bounds can be tested."""

    def __init__(self, reply: Callable[[Any, int], Reply]) -> None:
        self.reply = reply
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer._lock:
                    outer.requests.append(body)
                    outer.keys.append(self.headers.get("Authorization", ""))
                    outer._at_once += 1
                    outer.most_at_once = max(outer.most_at_once, outer._at_once)
                    number = len(outer.requests)
                try:
                    reply = outer.reply(body["messages"][-1]["content"], number)
                    if body.get("stream") and isinstance(reply, str | Iterator):
                        self._stream(re.findall(r"\s*\S+", reply) if isinstance(reply, str) else reply)
                    else:
                        self._answer(reply)
                finally:
                    with outer._lock:
                        outer._at_once -= 1

            def _answer(self, reply: Reply) -> None:
                status, headers = 200, {}
                if isinstance(reply, float):
                    time.sleep(reply)
                    reply = "slow"
                if isinstance(reply, int):
                    reply = (reply, {})
                if isinstance(reply, tuple):
                    status, headers = reply
                    key = self.headers.get("Authorization", "")
                    data = json.dumps({"error": {"message": f"no: {key}", "type": "test"}}).encode()
                else:
                    data = reply if isinstance(reply, bytes) else completion(reply)
                try:
                    self.send_response(status)
                    for name, value in {"Content-Type": "application/json", **headers}.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    self.close_connection = True  # the client went away

            def _stream(self, parts: Iterable[str]) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                for part in parts:
                    choice = {"index": 0, "delta": {"content": part}, "finish_reason": None}
                    self._event([choice], None)
                self._event([{"index": 0, "delta": {}, "finish_reason": "stop"}], None)
                self._event([], USAGE)
                self.wfile.write(b"data: [DONE]\n\n")
                self.close_connection = True

            def _event(self, choices: list[Any], usage: Any) -> None:
                head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m"}
                self.wfile.write(f"data: {json.dumps({**head, 'choices': choices, 'usage': usage})}\n\n".encode())
                self.wfile.flush()

            def log_message(self, *args: object) -> None:
                """Nothing: what is asked is kept."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def completion(text: str) -> bytes:
    """A reply as OpenAI's API gives it."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": USAGE}
    return json.dumps(body).encode()


@contextmanager
def serving(reply: Callable[[Any, int], Reply]) -> Iterator[Server]:
    """A server for the duration of a ``with``."""
    server = Server(reply)
    try:
        yield server
    finally:
        server.stop()
