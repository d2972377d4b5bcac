"""What stands before every route: limits of bodies and time, JSON that cannot do harm, and errors in one form."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Sequence
from http import HTTPStatus
from sqlite3 import OperationalError
from typing import Any

import anyio
import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import TypedDict

from convqa.errors import ConvqaError, InputError, RunError
from convqa.server.listening import GRACE
from convqa.server.service import Asked, Saturated
from convqa.validation import explain

log = logging.getLogger("convqa")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
_HEARTBEAT = 5
"""Seconds of silence after which a stream says that it is there."""

_PAUSE = 0.5
"""Seconds before a question is refused because too many wait."""

_MISTAKES = 5
"""Mistakes of a body that a reply names."""

_AGAIN = "5"
"""Seconds after which to ask a server again that is away."""


class _Error(TypedDict):
    message: str
    type: str
    code: int


class Failed(TypedDict):
    """Every error's form."""

    error: _Error


ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"model": Failed, "description": said}
    for code, said in {
        400: "No JSON, or a mistake in it", 401: "No key, or a wrong one", 403: "This user may see nothing",
        404: "Not there, or not to be seen", 405: "Another method", 409: "The conversation went on meanwhile",
        413: "The body is too long", 415: "Not declared as JSON", 422: "A field is not as it should be",
        429: "Too many questions a minute", 503: "Too many questions wait, or a collection's server is away",
        504: "It took too long",
    }.items()
}  # fmt: skip


class Guard:
    """Refuses bodies that are too long, at once where their length is declared, and adds the headers of security.

    :param hosts: the names that a request may call the server by; None = any.
    """

    def __init__(self, app: ASGIApp, most: int, hosts: Sequence[str] | None) -> None:
        self._app = app
        self._most = most
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        left = self._most

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise self._too_long()
            return message

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            await send(message)

        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if self._hosts is not None and Request(scope).url.hostname not in self._hosts:
            said = "A server without keys answers only to this machine's names, and those under hosts: in its file."
            await failure(HTTPException(400, said))(scope, receive, secured)
        elif declared.isdigit() and int(declared[:20]) > self._most:
            await failure(self._too_long())(scope, receive, secured)
        else:
            await self._app(scope, counted, secured)

    def _too_long(self) -> HTTPException:
        return HTTPException(413, f"The body has more than {self._most} bytes.", {"Connection": "close"})


class _Json(Request):
    async def json(self) -> Any:
        """The body, read by a parser that bounds its depth and takes no half characters.

        :raises HTTPException: 400 for what is no JSON.
        """
        try:
            return orjson.loads(await self.body())
        except orjson.JSONDecodeError as error:
            raise HTTPException(400, f"The body is no JSON: {error}.") from None


class Guarded(APIRoute):
    """A route that first asks who is there (``app.state.access``), and whose work must end in time."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            state = request.app.state
            try:
                request.state.caller = state.access.caller(request)
                if self.body_field is not None and "json" not in request.headers.get("Content-Type", ""):
                    raise HTTPException(415, "The body is JSON: say so with the header Content-Type: application/json.")
                async with asyncio.timeout(state.config.limits.seconds):
                    return await handle(_Json(request.scope, request.receive))
            except Saturated as error:
                # Somebody who asks again at once would take the processor from the questions that wait.
                await asyncio.sleep(_PAUSE)
                return failure(error)
            except (RunError, Exception) as error:
                return failure(error, state.config.limits.seconds)

        return guarded


def stream(
    asked: Asked, events: AsyncIterable[ServerSentEvent], seconds: float, error: str | None = None
) -> EventSourceResponse:
    """A reply of events, with a heartbeat; at the server's end it has the time that other replies have.

    :param asked: is given up where the client goes away. :param seconds: that the events may take, to be said.
    :param error: the name of the event that tells an error.
    """

    async def guarded() -> AsyncIterator[ServerSentEvent]:
        try:
            async for event in events:
                yield event
        except (RunError, Exception) as raised:
            yield ServerSentEvent(bytes(failure(raised, seconds).body).decode(), event=error)
        finally:
            asked.response.cancel()

    return EventSourceResponse(
        guarded(), ping=_HEARTBEAT, shutdown_event=anyio.Event(), shutdown_grace_period=GRACE - _HEARTBEAT
    )


def failure(error: BaseException, seconds: float = 0) -> JSONResponse:
    """An error as JSON. Only a caller's mistake is told with its details; those of other errors go to the log.

    :param seconds: how long the work was allowed to take; 0 = any time.
    """
    status, message, headers = 500, "The server failed at this request. Its log says why.", {}
    match error:
        case HTTPException():
            status, message, headers = error.status_code, str(error.detail), dict(error.headers or {})
        case RequestValidationError():
            status, message = 422, _mistakes(error)
        case TimeoutError() if seconds:
            status, message = 504, f"This took longer than {seconds:g} s."
        case InputError():
            status, message = 400, str(error)
        case OperationalError() | RunError(transient=True):
            log.warning("%s", error)
            status, message, headers = 503, "What is searched does not answer now. Ask again.", {"Retry-After": _AGAIN}
        case ConvqaError():
            log.error("%s", error)
        case _:
            log.error("unexpected: %s: %s", type(error).__name__, error, exc_info=error)
    return JSONResponse({"error": {"message": message, "type": _type(status), "code": status}}, status, headers)


def install(app: FastAPI) -> None:
    """Let errors outside the routes, such as an unknown path, end as :func:`failure` says too."""

    async def handled(_: Request, error: Exception) -> JSONResponse:
        return failure(error)

    for kind in (HTTPException, Exception):
        app.add_exception_handler(kind, handled)


def _mistakes(error: RequestValidationError) -> str:
    found = explain(error)  # type: ignore[arg-type]
    said = "; ".join(f"{_field(field)}: {what}" for field, what in found[:_MISTAKES])
    return f"{said}." if len(found) <= _MISTAKES else f"{said}; and {len(found) - _MISTAKES} more."


def _field(path: str) -> str:
    return re.sub(r"^(body|query|path)\.?", "", path) or "the body"


def _type(status: int) -> str:
    """The kind of an error, in the words of OpenAI's API."""
    known = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    return known.get(status) or (
        "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error"
    )
