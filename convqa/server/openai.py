"""OpenAI's chat completions API, for chat clients such as Open WebUI, LibreChat and the package openai."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import Annotated, Any
from urllib.parse import quote

import orjson
from fastapi import APIRouter, Request, Response
from pydantic import Field, PositiveInt
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException

from convqa.components.base import PARTIAL
from convqa.domain import Response as TurnResponse
from convqa.errors import InputError
from convqa.exports import replies
from convqa.server import chat_text
from convqa.server.guard import ERRORS, GuardedRoute, openai_failure, stream
from convqa.server.messages import ChatQuestion, Message, read, reply_to_errand
from convqa.server.service import PendingTurn
from convqa.server.turns import Filters, RequestCaller, page_address, prepared, service_of
from convqa.validation import BoundedList, Record

router = APIRouter(prefix="/v1", route_class=GuardedRoute, responses=ERRORS)

_TOKEN = re.compile(r"\w+|[^\w\s]")
"""What ``max_tokens`` counts: words and signs."""
_MAX_QUOTE_CHARS = 200
"""Characters of a quote in the title of an annotation."""
_ONLY: Mapping[str, tuple[Sequence[object], str]] = {
    "n": ((1,), "1; a question has one answer"),
    "response_format": (({}, {"type": "text"}), "text. Quotes and citations as JSON are at /api/turn"),
    "tool_choice": (("none", "auto"), "none or auto; this server calls no tools"),
    "function_call": (("none", "auto"), "none or auto; this server calls no tools"),
    "logprobs": ((False,), "false; answers have no probabilities of tokens"),
    "modalities": ((["text"],), '["text"]'),
}
"""Parameters that would have no effect with other values, and what to expect."""


class CompletionRequest(Record, extra="allow"):
    """A request. ``filter`` is an extension: meta field -> accepted values. Other unknown fields are ignored."""

    model: str
    messages: Annotated[BoundedList[Message], Field(min_length=1)]
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None
    filter: Filters | None = None
    stop: str | BoundedList[str] | None = None
    max_tokens: PositiveInt | None = None
    max_completion_tokens: PositiveInt | None = None

    @property
    def is_limited(self) -> bool:
        """Whether the reply may have to end early."""
        return bool(self.stop or self.max_tokens or self.max_completion_tokens)

    def refuse_unsupported(self) -> None:
        """:raises InputError: for a parameter that would have no effect."""
        for name, (accepted, expected) in _ONLY.items():
            value = getattr(self, name, None)
            if value is not None and value not in accepted:
                raise InputError(f"{name}: expected {expected}.")


@dataclass(frozen=True, slots=True)
class _Reply:
    """A reply in pieces, with ``annotations`` and ``citations`` of its message."""

    pieces: Sequence[str]
    cited: Mapping[str, Any]
    usage: tuple[int, int]
    finish_reason: str


@router.get("/models")
async def models(request: Request) -> dict[str, Any]:
    """List the served pipelines as models."""
    return {"object": "list", "data": [_described(name) for name in request.app.state.services]}


@router.get("/models/{id:path}")
async def model(request: Request, id: str) -> dict[str, Any]:
    """Return a served pipeline as a model."""
    return _described(service_of(request, id, "model").name)


@router.post("/responses", include_in_schema=False)
@router.post("/embeddings", include_in_schema=False)
async def refuse(request: Request) -> None:
    """:raises HTTPException: 404 always, because these are not offered."""
    raise HTTPException(404, f"{request.url.path} is not offered here. Use /v1/chat/completions.")


def _described(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "convqa"}


@router.post("/chat/completions")
async def complete(
    request: Request,
    body: CompletionRequest,
    caller: RequestCaller,
) -> Response:
    """Answer the last message; the messages before it are the conversation.

    Citations appear as marks with a list of sources in the text, as ``annotations`` of type url_citation (indices into
    the text, in code points), and as ``citations`` with passage, quote and offsets into the passage's text.
    """
    service = service_of(request, body.model, "model")
    body.refuse_unsupported()
    asked = read(body.messages)
    errand = reply_to_errand(asked, service.served.examples)
    if errand is not None:
        reply = _Reply([errand], {}, (0, 0), "stop")
        return EventSourceResponse(_chunks(body, _head(body), reply)) if body.stream else _completion(body, reply)
    turn = prepared(
        request,
        service,
        caller,
        asked.question,
        asked.history,
        body.filter or {},
    )
    pending = service.ask(turn)
    address = page_address(request)

    def address_of(passage: str) -> str:
        return f"{address}#p={quote(passage, safe='')}&pipeline={quote(service.name)}"

    async def replied() -> _Reply:
        response = await pending.response
        return _answered(
            body,
            asked,
            response,
            turn.language,
            address_of,
        )

    if body.stream:
        seconds = request.app.state.config.limits.seconds
        return stream(
            pending,
            _events(pending, body, asked.sources, replied),
            seconds,
            reply=openai_failure,
        )
    try:
        return _completion(body, await replied())
    finally:
        pending.response.cancel()


async def _events(
    pending: PendingTurn,
    body: CompletionRequest,
    sources: int,
    replied: Callable[[], Awaitable[_Reply]],
) -> AsyncIterator[ServerSentEvent]:
    """Yield the chunks of an answer, after the stages as comments, which clients ignore.

    Sentences of a language model are sent as they arrive, unless the reply may have to end early.
    """
    head = _head(body)
    sent = ""
    async for label, output in pending.outputs():
        if label != PARTIAL or body.is_limited:
            yield ServerSentEvent(comment=label)
            continue
        text = "".join(chat_text.sentence_pieces(output, pending.turn.language, sources))
        role = {} if sent else {"role": "assistant"}
        yield _chunk(head, {**role, "content": text[len(sent) :]})
        sent = text
    reply = await replied()
    if sent:
        # The answer differs from what was sent only if the model failed on the way.
        whole = "".join(reply.pieces)
        rest = whole.removeprefix(sent) if whole.startswith(sent) else f"\n\n{whole}"
        reply = replace(reply, pieces=[rest])
    for chunk in _chunks(body, head, reply):
        yield chunk


def _answered(
    body: CompletionRequest,
    asked: ChatQuestion,
    response: TurnResponse,
    language: str,
    address_of: Callable[[str], str],
) -> _Reply:
    """Return the reply of an answered turn.

    :param address_of: returns the address of a passage on this server, given its id.
    :raises HTTPException: 500 for a failed turn.
    """
    if response.error is not None:
        raise HTTPException(500, replies.failure_message(response.error))
    pieces: Sequence[str] = list(chat_text.pieces(response, language, asked.sources, asked.caveat))
    finish_reason = "stop"
    if body.is_limited:
        text, finish_reason = _limited("".join(pieces), body)
        pieces = [text]
    citations = {citation.number: citation for citation in chat_text.citations(response, asked.sources)}
    annotations = []
    cited = {}
    for start, end, number in chat_text.marks("".join(pieces)):
        citation = citations.get(number)
        if citation is not None:
            cited[number] = citation
            url_citation = {**_link(citation, address_of), "start_index": start, "end_index": end}
            annotations.append({"type": "url_citation", "url_citation": url_citation})
    fields = {"annotations": annotations, "citations": list(cited.values())} if cited else {}
    return _Reply(pieces, fields, response.usage, finish_reason)


def _limited(text: str, body: CompletionRequest) -> tuple[str, str]:
    """Return a text up to the first stop sequence or the maximum of tokens, and the reason why it ends."""
    stops = [body.stop] if isinstance(body.stop, str) else body.stop or ()
    for stop in filter(None, stops):
        text = text.partition(stop)[0]
    most = body.max_completion_tokens or body.max_tokens
    tokens = list(_TOKEN.finditer(text))
    if most is None or len(tokens) <= most:
        return text, "stop"
    return text[: tokens[most].start()], "length"


def _link(citation: replies.CitationReply, address_of: Callable[[str], str]) -> dict[str, str]:
    """Return title and URL of a citation, on this server if the passage has no URL. No two citations share a URL.

    The title has the quote, which clients show behind the mark.
    """
    url = citation.url
    if not chat_text.is_address(url):
        url = address_of(citation.passage)
    title = citation.title or citation.passage
    quoted = shorten(citation.quote, _MAX_QUOTE_CHARS, placeholder=" ...")
    return {"url": chat_text.numbered_address(url, citation.number), "title": f'{title}: "{quoted}"'}


def _completion(body: CompletionRequest, reply: _Reply) -> Response:
    message = {
        "role": "assistant",
        "content": "".join(reply.pieces),
        "refusal": None,
        **reply.cited,
    }
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": reply.finish_reason,
        "logprobs": None,
    }
    data = _head(body, "chat.completion")
    data["choices"] = [choice]
    data["usage"] = _usage(reply.usage)
    return Response(orjson.dumps(data), media_type="application/json")


def _chunks(
    body: CompletionRequest,
    head: Mapping[str, Any],
    reply: _Reply,
) -> Iterator[ServerSentEvent]:
    deltas: list[Any] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in reply.pieces]
    if reply.cited:
        deltas.append(reply.cited)
    for delta in deltas:
        yield _chunk(head, delta)
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}]})
    if body.stream_options and body.stream_options.get("include_usage"):
        yield _event({**head, "choices": [], "usage": _usage(reply.usage)})
    yield ServerSentEvent("[DONE]")


def _chunk(head: Mapping[str, Any], delta: Any) -> ServerSentEvent:
    return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})


def _event(data: Any) -> ServerSentEvent:
    return ServerSentEvent(orjson.dumps(data).decode())


def _usage(usage: tuple[int, int]) -> dict[str, int]:
    """Return the tokens that the language model's server reported, 0 without a language model."""
    prompt, completion = usage
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _head(body: CompletionRequest, kind: str = "chat.completion.chunk") -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "object": kind,
        "created": int(time.time()),
        "model": body.model,
    }
