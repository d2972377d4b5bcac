"""MRQA 2019's predict server: a context with its questions in, their answers out.

What the task's evaluator (predict_server.py) does: it connects to the port, up to 600 times, and drops the connection
without a word; then it POSTs the contexts of a file to ``/``, one after another, waits for each as long as it takes,
reads every reply as JSON, whatever its status, and merges the objects {qid: answer}. One reply that is no JSON would
end it, so every reply here is JSON, errors too.

The standard library's server does: one route, one caller on the same machine, nothing to install.
"""

from __future__ import annotations

import logging
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from convqa.errors import ConvqaError, InputError
from convqa.files import parse_line, to_json_bytes
from convqa.qa import QA
from convqa.tasks.mrqa.contexts import Context, Question, conversations
from convqa.validation import Record, read_as, shorten

MOST_BYTES = 64 * 2**20
"""Of a request. The task's contexts have at most 800 tokens, some 50 kB with all that comes with them."""
_WANTED = "Wanted: an object with context and qas."
_PIECE = 2**20
_MOST_DIGITS = 19

log = logging.getLogger("convqa")


class _Asked(Record):
    """The fields that are read of a question: all else, the gold above all, stays outside."""

    qid: str
    question: str


class _Line(Record):
    context: str
    qas: list[_Asked]


def answer_context(qa: QA, line: object) -> dict[str, str]:
    """The answers to all questions of a context, "" where there is none, in one run of the pipeline.

    :param line: a line of an MRQA file, as JSON gives it. A header line, and one without ``qas``, asks nothing.
    :raises InputError: naming the field that is not as it should be.
    :raises ConvqaError: if the work cannot go on.
    """
    if not isinstance(line, dict):
        raise InputError(f"the body: found {type(line).__name__}; wanted an object with context and qas.")
    if "header" in line or "qas" not in line:
        return {}
    read = read_as(_Line, line, "the body", "Wanted: context, and qas with qid and question each.")
    seen: set[str] = set()
    for index, asked in enumerate(read.qas):
        if asked.qid in seen:
            raise InputError(f"qas[{index}].qid: {asked.qid!r} names an earlier question too; wanted an id for each.")
        seen.add(asked.qid)
    context = Context(read.context, tuple(Question(asked.qid, asked.question) for asked in read.qas))
    answers = {question.id: "" for question in context.questions}
    for response in qa.drive(conversations(context)):
        if response.error is not None:
            failure = response.error
            log.warning("turn %s failed in %s: %s: %s", response.id, failure.stage, failure.error, failure.message)
        elif response.answer is not None:
            answers[str(response.id.conversation)] = response.answer.text
    return answers


class PredictServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Takes its address when it is made, and listens only when it has what answers.

    So a port in use is said before a model is loaded, and whoever waits for the port finds the model there. Every
    connection has a thread, so that an idle one holds up nobody; contexts are answered one at a time.

    :param port: 0 takes a free one; ``url`` says which.
    :raises InputError: if there is no such address, or it is taken.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int) -> None:
        self._qa: QA | None = None
        self._one_at_a_time = threading.Lock()
        with _mistakes(host, port):
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self.address_family = family
            super().__init__((str(address[0]), int(address[1])), _Handler, bind_and_activate=False)
            try:
                self.server_bind()
            except OSError:
                self.server_close()
                raise

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://[{host!s}]:{port}/" if self.address_family == socket.AF_INET6 else f"http://{host!s}:{port}/"

    def listen(self, qa: QA) -> None:
        """Open the port; connections wait until ``serve_forever`` takes them."""
        self._qa = qa
        host, port = self.server_address[:2]
        with _mistakes(str(host), int(port)):
            self.server_activate()

    def answer(self, line: object) -> dict[str, str]:
        """The answers to a line's questions. Callers wait for each other."""
        assert self._qa is not None, "listen comes first"
        with self._one_at_a_time:
            return answer_context(self._qa, line)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class's signature
        """A client that goes away is none of ours; no traceback."""
        log.debug("%s: the connection broke", client_address, exc_info=True)


@contextmanager
def _mistakes(host: str, port: int) -> Iterator[None]:
    try:
        yield
    except (OSError, UnicodeError) as error:  # the latter: what can be no name of a host
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(
            f"{host}, port {port}: cannot be listened to ({reason}); choose another port or --host, 0 for a free port."
        ) from error


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "convqa"
    sys_version = ""
    # Seconds in which a client may say nothing: longer than the evaluator waits for a port.
    timeout = 900.0
    server: PredictServer

    def do_POST(self) -> None:
        given = self.headers.get("Content-Length", "")
        if not (given.isascii() and given.isdigit() and len(given) < _MOST_DIGITS):
            self.close_connection = True
            wanted = f"Content-Length: found {shorten(given)}; wanted a number of bytes."
            return self._reply(HTTPStatus.LENGTH_REQUIRED, {"error": wanted})
        length = int(given)
        body = self._read(length)
        if length > MOST_BYTES:
            wanted = f"the body: found {length} bytes; wanted at most {MOST_BYTES}."
            return self._reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": wanted})
        if self.path.partition("?")[0] != "/":
            wanted = f"{self.path}: there is only /, which takes one context a POST."
            return self._reply(HTTPStatus.NOT_FOUND, {"error": wanted})
        return self._reply(*self._answered(body))

    def do_GET(self) -> None:
        self.send_error(HTTPStatus.METHOD_NOT_ALLOWED, "POST a context to /.")

    def _answered(self, body: bytes) -> tuple[HTTPStatus, dict[str, str]]:
        try:
            return HTTPStatus.OK, self.server.answer(parse_line(body, "the body", _WANTED, first=True)[0])
        except InputError as error:
            return HTTPStatus.BAD_REQUEST, {"error": str(error)}
        except ConvqaError as error:
            message = str(error)
        except Exception as error:
            message = f"unexpected: {type(error).__name__}: {error}"
            log.debug("the traceback of the error below", exc_info=True)
        log.error("%s", message)
        return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": message}

    def _read(self, length: int) -> bytes:
        """The request's body; "" if it is too long. That one is read all the same: only then does a client read our
        reply.
        """
        read, pieces = 0, []
        while read < length:
            piece = self.rfile.read(min(length - read, _PIECE))
            if not piece:
                raise ConnectionError(f"the body ended after {read} of {length} bytes")
            read += len(piece)
            if length <= MOST_BYTES:
                pieces.append(piece)
        return b"".join(pieces)

    def _reply(self, status: HTTPStatus, value: dict[str, str]) -> None:
        data = to_json_bytes(value)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer in JSON to requests that the base class refuses."""
        self.close_connection = True
        status = HTTPStatus(code)
        self._reply(status, {"error": message or status.phrase})

    def log_message(self, format: str, *args: Any) -> None:
        log.debug("%s: %s", self.client_address[0], format % args)
