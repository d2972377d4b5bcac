"""Protection of all routes: limits on body size and time, safe JSON parsing, and uniform errors."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from http import HTTPStatus
from sqlite3 import OperationalError
from typing import Any, NotRequired

import anyio
import orjson
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import TypedDict

from convqa.errors import ConvqaError, InputError, RunError
from convqa.server.listening import GRACE_SECONDS, MAX_HEADER_BYTES
from convqa.server.service import RETRY, PendingTurn
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
_HEARTBEAT_SECONDS = 5
"""Time between heartbeats of a silent stream."""

_MAX_MISTAKES = 5
"""Mistakes of a body that a reply names."""


_OPENAI_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
}
"""Types of errors in OpenAI's API, by status."""

_HOST = re.compile(r"(?:(?P<name>[a-z0-9._-]+)|\[(?P<address>[0-9a-f:.]+)\])(?::[0-9]{1,5})?")
"""A Host header: a name or an IPv6 address, and perhaps a port."""

_PARAMETER = re.compile(r"([a-z_]+(?:[.\[][\w.\[\]]*)?): ")
"""The field at the beginning of a message."""


class _Error(TypedDict):
    """An error. Those of OpenAI's API have a parameter, and a code in words instead of the status."""

    message: str
    type: str
    code: int | str
    param: NotRequired[str | None]


class ErrorBody(TypedDict):
    """The body of every error."""

    error: _Error


_STATUSES = (400, 401, 403, 404, 405, 409, 413, 415, 422, 431, 500, 503, 504)
ERRORS: dict[int | str, dict[str, Any]] = {status: {"model": ErrorBody} for status in _STATUSES}
"""The errors that every route documents."""


class GuardMiddleware:
    """Refuses bodies that are too long and unknown hosts, and adds security headers.

    :param max_bytes: the size of the largest body. :param larger: path -> the size of its largest body.
    :param hosts: allowed host names of requests; None = any.
    """

    def __init__(
        self,
        app: ASGIApp,
        max_bytes: int,
        hosts: Sequence[str] | None,
        larger: Mapping[str, int],
    ) -> None:
        self._app = app
        self._larger = larger
        self._max_bytes = max_bytes
        self._hosts = hosts

    async def __call__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        max_bytes = left = self._larger.get(scope["path"], self._max_bytes)

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                problem = f"The body has more than {max_bytes} bytes."
                raise HTTPException(413, problem, {"Connection": "close"})
            return message

        request_id = (b"x-request-id", f"req_{secrets.token_hex(12)}".encode())

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS, request_id]}
            await send(message)

        app = self._app
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
            app = failure(HTTPException(431, f"The headers have more than {MAX_HEADER_BYTES} bytes."))
        elif self._hosts is not None and _host(scope) not in self._hosts:
            message = "Unknown host: a server without keys accepts local names, and those of --allow-host or hosts:."
            app = failure(HTTPException(400, message))
        await app(scope, counted, secured)


def _host(scope: Scope) -> str | None:
    """Return the name in the only Host header of a request, None without one or for a malformed one."""
    values = [value for name, value in scope["headers"] if name == b"host"]
    if len(values) != 1:
        return None
    host = values[0].decode("latin-1").lower()
    match = _HOST.fullmatch(host)
    return match and (match["name"] or match["address"])


class _JsonRequest(Request):
    """A request whose body orjson parses."""

    async def json(self) -> Any:
        """Parse the body with a parser that limits nesting and refuses lone surrogates.

        :raises HTTPException: 400 for malformed JSON.
        """
        try:
            return orjson.loads(await self.body())
        except orjson.JSONDecodeError as error:
            raise HTTPException(400, f"The body is not valid JSON: {error}.") from None


class GuardedRoute(APIRoute):
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
                    return await handle(_JsonRequest(request.scope, request.receive))
            except (RunError, Exception) as error:
                return failure_of(request)(error, state.config.limits.seconds)

        return guarded


def stream(
    pending: PendingTurn,
    events: AsyncIterable[ServerSentEvent],
    seconds: float,
    error: str | None = None,
    reply: Callable[[BaseException, float], JSONResponse] | None = None,
) -> EventSourceResponse:
    """Return a stream of events with a heartbeat, which gets the same grace period at shutdown as other replies.

    :param pending: the turn to cancel if the client disconnects.
    :param seconds: the time limit. :param error: the name of error events.
    :param reply: makes the data of error events; by default :func:`failure`.
    """
    reply = reply or failure

    async def guarded() -> AsyncIterator[ServerSentEvent]:
        try:
            async with asyncio.timeout(seconds):
                async for event in events:
                    yield event
        except (RunError, Exception) as raised:
            yield ServerSentEvent(bytes(reply(raised, seconds).body).decode(), event=error)
        finally:
            pending.response.cancel()

    return EventSourceResponse(
        guarded(),
        ping=_HEARTBEAT_SECONDS,
        shutdown_event=anyio.Event(),
        shutdown_grace_period=GRACE_SECONDS - _HEARTBEAT_SECONDS,
    )


def failure(error: BaseException, seconds: float = 0) -> JSONResponse:
    """Return an error as JSON. The details of errors other than the caller's go to the log only.

    :param seconds: the time limit of the work; 0 = none.
    """
    match error:
        case HTTPException():
            return _error_response(
                error.status_code,
                str(error.detail),
                error.headers,
            )
        case RequestValidationError():
            return _error_response(422, _mistakes(error))
        case TimeoutError() if seconds:
            return _error_response(504, f"This took longer than {seconds:g} s.")
        case InputError():
            return _error_response(400, str(error))
        case OperationalError() | RunError(transient=True):
            log.warning("%s", error)
            what = "collection is" if isinstance(error, RunError) else "stored conversations are"
            message = f"The {what} unavailable. Try again."
            return _error_response(503, message, RETRY)
        case ConvqaError():
            log.error("%s", error)
        case _:
            log.error(
                "unexpected: %s: %s",
                type(error).__name__,
                error,
                exc_info=error,
            )
    return _error_response(500, "The server failed to process this request. See its log.")


def failure_of(request: Request) -> Callable[..., JSONResponse]:
    """Return the form of a request's errors."""
    return openai_failure if request.url.path.startswith("/v1/") else failure


def openai_failure(error: BaseException, seconds: float = 0) -> JSONResponse:
    """Return an error as OpenAI's API does: a code in words, the parameter, and 400 for every mistake of a body."""
    reply = failure(error, seconds)
    status = 400 if reply.status_code in {415, 422} else reply.status_code
    content: _Error = orjson.loads(reply.body)["error"]
    parameter = _PARAMETER.match(content["message"])
    content["param"] = parameter and parameter[1]
    content["code"] = "model_not_found" if status == 404 and parameter else HTTPStatus(status).name.lower()
    del reply.headers["Content-Length"]
    return JSONResponse({"error": content}, status, reply.headers)


def _error_response(
    status: int,
    message: str,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    default = "invalid_request_error" if status < 500 else "server_error"
    error: _Error = {"message": message, "type": _OPENAI_TYPES.get(status, default), "code": status}
    return JSONResponse({"error": error}, status, headers)


async def _handled(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, HTTPException) and error.status_code == 405:
        # Several routes may have the path, each with a method.
        routes = [route for route in request.app.state.routes if route.matches(request.scope)[0] is not Match.NONE]
        error.headers = {
            "Allow": ", ".join(sorted({method for route in routes for method in getattr(route, "methods", ())}))
        }
    return failure_of(request)(error)


HANDLERS: Any = {HTTPException: _handled, Exception: _handled}
"""Handlers of errors outside the routes, such as an unknown path."""


def _mistakes(error: RequestValidationError) -> str:
    mistakes = []
    for path, problem in explain(error):  # type: ignore[arg-type]
        field = re.sub(r"^(body|query|path)[.]?", "", path)
        mistakes.append(f"{field or 'the body'}: {problem}")
    if len(mistakes) > _MAX_MISTAKES:
        mistakes[_MAX_MISTAKES:] = [f"and {len(mistakes) - _MAX_MISTAKES} more"]
    return f"{'; '.join(mistakes)}."
