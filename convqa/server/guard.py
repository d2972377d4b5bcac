"""Protection of all routes: limits on body size and time, safe JSON parsing, and uniform errors."""

from __future__ import annotations

import asyncio
import logging
import re
import time
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
from convqa.server.metrics import Metrics
from convqa.server.service import AGAIN, PendingTurn
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
"""Seconds between heartbeats of a silent stream."""

_MISTAKES = 5
"""Maximum mistakes of a body that a reply names."""


class _Error(TypedDict):
    message: str
    type: str
    code: int


class ErrorBody(TypedDict):
    """The body of every error."""

    error: _Error


ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"model": ErrorBody, "description": description}
    for code, description in {
        400: "Malformed JSON, or a mistake in it", 401: "Missing or wrong key", 403: "This user may see nothing",
        404: "Not found, or not visible to the caller", 405: "Method not allowed",
        409: "The conversation has changed", 413: "The body is too long", 415: "Not declared as JSON",
        422: "Malformed field", 429: "Too many questions per minute",
        503: "Too many waiting questions, or a collection's server is unavailable", 504: "Timeout",
    }.items()
}  # fmt: skip


class Guard:
    """Refuses bodies that are too long, adds security headers, and measures requests.

    :param hosts: allowed host names of requests; None = any.
    """

    def __init__(self, app: ASGIApp, most: int, hosts: Sequence[str] | None, metrics: Metrics) -> None:
        self._app, self._most, self._hosts, self._metrics = app, most, hosts, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        left, status, start = self._most, 500, time.perf_counter()

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise self._too_long()
            return message

        async def secured(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            await send(message)

        declared = dict(scope["headers"]).get(b"content-length", b"0")
        try:
            if self._hosts is not None and Request(scope).url.hostname not in self._hosts:
                message = "Unknown host: a server without keys accepts local names, and those under hosts: in its file."
                await failure(HTTPException(400, message))(scope, receive, secured)
            elif declared.isdigit() and int(declared[:20]) > self._most:
                await failure(self._too_long())(scope, receive, secured)
            else:
                await self._app(scope, counted, secured)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.request(route, status, time.perf_counter() - start)

    def _too_long(self) -> HTTPException:
        return HTTPException(413, f"The body has more than {self._most} bytes.", {"Connection": "close"})


class _Json(Request):
    async def json(self) -> Any:
        """Parse the body with a parser that limits nesting and refuses lone surrogates.

        :raises HTTPException: 400 for malformed JSON.
        """
        try:
            return orjson.loads(await self.body())
        except orjson.JSONDecodeError as error:
            raise HTTPException(400, f"The body is not valid JSON: {error}.") from None


class Guarded(APIRoute):
    """A route that identifies the caller (``app.state.access``) and has a time limit."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            state = request.app.state
            try:
                request.state.caller = state.access.caller(request)
                if self.body_field is not None and "json" not in request.headers.get("Content-Type", ""):
                    raise HTTPException(415, "Expected a JSON body with the header Content-Type: application/json.")
                async with asyncio.timeout(state.config.limits.seconds):
                    return await handle(_Json(request.scope, request.receive))
            except (RunError, Exception) as error:
                return failure(error, state.config.limits.seconds)

        return guarded


def stream(
    pending: PendingTurn, events: AsyncIterable[ServerSentEvent], seconds: float, error: str | None = None
) -> EventSourceResponse:
    """Return a stream of events with a heartbeat, which gets the same grace period at shutdown as other replies.

    :param pending: the turn to cancel if the client disconnects.
    :param seconds: the time limit, for the error message. :param error: the name of error events.
    """

    async def guarded() -> AsyncIterator[ServerSentEvent]:
        try:
            async for event in events:
                yield event
        except (RunError, Exception) as raised:
            yield ServerSentEvent(bytes(failure(raised, seconds).body).decode(), event=error)
        finally:
            pending.response.cancel()

    return EventSourceResponse(
        guarded(), ping=_HEARTBEAT, shutdown_event=anyio.Event(), shutdown_grace_period=GRACE - _HEARTBEAT
    )


def failure(error: BaseException, seconds: float = 0) -> JSONResponse:
    """Return an error as JSON. The details of errors other than the caller's go to the log only.

    :param seconds: the time limit of the work; 0 = none.
    """
    status, message, headers = 500, "The server failed to process this request. See its log.", {}
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
            status, message, headers = 503, "The collection is unavailable. Try again.", {"Retry-After": AGAIN}
        case ConvqaError():
            log.error("%s", error)
        case _:
            log.error("unexpected: %s: %s", type(error).__name__, error, exc_info=error)
    return JSONResponse({"error": {"message": message, "type": _type(status), "code": status}}, status, headers)


def install(app: FastAPI) -> None:
    """Handle errors outside the routes, such as an unknown path, by :func:`failure`."""

    async def handled(_: Request, error: Exception) -> JSONResponse:
        return failure(error)

    for kind in (HTTPException, Exception):
        app.add_exception_handler(kind, handled)


def _mistakes(error: RequestValidationError) -> str:
    mistakes = [
        f"{re.sub(r'^(body|query|path)[.]?', '', path) or 'the body'}: {problem}"
        for path, problem in explain(error)  # type: ignore[arg-type]
    ]
    more = f"; and {len(mistakes) - _MISTAKES} more" if len(mistakes) > _MISTAKES else ""
    return f"{'; '.join(mistakes[:_MISTAKES])}{more}."


def _type(status: int) -> str:
    """Return the type of an error in OpenAI's API."""
    types = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    return types.get(status, "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error")
