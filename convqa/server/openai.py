"""OpenAI's chat completions API, for chat clients such as Open WebUI, LibreChat and the package openai."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from textwrap import shorten
from typing import Annotated, Any
from urllib.parse import quote

import orjson
from fastapi import APIRouter, Request, Response
from pydantic import BeforeValidator, Field
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException

from convqa.domain import Exchange
from convqa.domain import Response as TurnResponse
from convqa.exports import replies
from convqa.server import chat_text
from convqa.server.guard import ERRORS, Guarded, stream
from convqa.server.service import PendingTurn, Service
from convqa.server.turns import Asker, BoundedList, Filters, prepared, service_of
from convqa.validation import Record, Text

router = APIRouter(prefix="/v1", route_class=Guarded, responses=ERRORS)

_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
"""Required by clients; nothing here is counted in tokens."""

_ERRANDS = re.compile(
    r"\s*### Task:|\s*Provide a concise, 5-word-or-less title|\s*Analyze this conversation and provide"
    r"|\s*Please generate a concise title"
)
"""The beginnings of prompts that Open WebUI and LibreChat send on their own."""

_FIELDS = ("title", "tags", "follow_ups", "queries", "text", "emoji")
"""Fields of the JSON that Open WebUI's prompts ask for."""
_FIRST_QUESTION = re.compile(r"^[ \t]*(?:USER|User|Human|user):[ \t]*(\S.*)$", re.M)
_TITLE = 60
_TEXTS = frozenset(["text", "input_text"])


class Part(Record, extra="allow"):
    """A part of a message. Parts other than text are ignored."""

    type: str
    text: Text | None = None


def _parts(content: Any) -> Any:
    if content is not None and not isinstance(content, str | list):
        raise ValueError("expected a string or a list of parts")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class Message(Record, extra="allow"):
    """A message. Roles other than user and assistant are ignored."""

    role: str
    content: Annotated[BoundedList[Part] | None, BeforeValidator(_parts, str | BoundedList[Part] | None)] = None

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content or () if part.type in _TEXTS and part.text)


class Completion(Record, extra="allow"):
    """A request. ``filter`` is an extension: meta field -> accepted values. Unknown fields are ignored."""

    model: str
    messages: Annotated[BoundedList[Message], Field(min_length=1)]
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None
    filter: Filters = {}


@router.get("/models")
async def models(request: Request) -> dict[str, Any]:
    """List the served pipelines as models."""
    names = request.app.state.services
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "convqa"} for name in names]
    return {"object": "list", "data": data}


@router.post("/chat/completions")
async def complete(request: Request, body: Completion, caller: Asker) -> Response:
    """Answer the last message; the messages before it are the conversation.

    Citations appear as marks with a list of sources in the text, as ``annotations`` of type url_citation (indices into
    the text, in code points), and as ``citations`` with passage, quote and offsets into the passage's text.
    """
    service = service_of(request, body.model)
    question, history = conversation(body.messages)
    if _ERRANDS.match(question):
        text = errand(question, history)
        return EventSourceResponse(iter(_chunks(body, [text], {}))) if body.stream else _json(_reply(body, text, {}))
    turn = prepared(request, service, caller, question, history, body.filter)
    pending = service.ask(turn)
    if body.stream:
        seconds = request.app.state.config.limits.seconds
        return stream(pending, _events(pending, body, str(request.base_url), service, seconds), seconds)
    try:
        response = _successful(await pending.response)
    finally:
        pending.response.cancel()
    content = "".join(chat_text.pieces(response, turn.language))
    return _json(_reply(body, content, _cited(response, content, str(request.base_url), service)))


def conversation(messages: Sequence[Message]) -> tuple[str, list[Exchange]]:
    """Return the question and the exchanges before it.

    Consecutive questions are joined, and answers without a question are ignored.

    :raises HTTPException: 422 if the last message is not a question.
    """
    history: list[Exchange] = []
    open_question: list[str] = []
    for message in messages:
        if message.role == "user":
            open_question += [message.text] if message.text.strip() else []
        elif message.role == "assistant" and open_question:
            history.append(chat_text.exchange("\n".join(open_question), message.text))
            open_question = []
    if not open_question:
        raise HTTPException(422, "messages: the last one must be a question: role user, with a text.")
    return "\n".join(open_question), history


def errand(prompt: str, history: Sequence[Exchange]) -> str:
    """Reply to a prompt that a client sends on its own: the first question as a title, all else empty."""
    match = _FIRST_QUESTION.search(prompt)
    first = match[1] if match else history[0].question if history else ""
    title = shorten(first, _TITLE, placeholder=" ...")
    field = next((name for name in _FIELDS if f'"{name}"' in prompt), None)
    if field is None:
        return title
    empty = title if field == "title" else [] if field in {"tags", "follow_ups", "queries"} else ""
    return orjson.dumps({field: empty}).decode()


async def _events(
    pending: PendingTurn, body: Completion, address: str, service: Service, seconds: float
) -> AsyncIterator[ServerSentEvent]:
    """Yield the chunks of an answer, after the stages as comments, which clients ignore."""
    async with asyncio.timeout(seconds):
        async for label, _ in pending.outputs():
            yield ServerSentEvent(comment=label)
        response = _successful(await pending.response)
    pieces = list(chat_text.pieces(response, pending.turn.language))
    for chunk in _chunks(body, pieces, _cited(response, "".join(pieces), address, service)):
        yield chunk


def _successful(response: TurnResponse) -> TurnResponse:
    """:raises HTTPException: 500 for a failed turn."""
    if response.error is not None:
        raise HTTPException(500, f"The {response.error.stage} failed to process this question.")
    return response


def _cited(response: TurnResponse, content: str, address: str, service: Service) -> dict[str, Any]:
    """Return the annotations and citations of a message."""
    citations = {citation.number: citation for citation in replies.citations(response)}
    annotations = [
        {"type": "url_citation", "url_citation": {**_link(citations[number], address, service.name),
                                                  "start_index": start, "end_index": end}}
        for start, end, number in chat_text.marks(content)
        if number in citations
    ]  # fmt: skip
    return {"annotations": annotations, "citations": list(citations.values())} if citations else {}


def _link(citation: replies.CitationReply, address: str, pipeline: str) -> dict[str, str]:
    """Return title and URL of a passage, on this server if the passage has no URL."""
    own = f"{address}api/passages/{quote(citation.passage, safe='')}?pipeline={quote(pipeline)}"
    url = citation.url if chat_text.is_address(citation.url) else own
    return {"url": url, "title": citation.title or citation.passage}


def _reply(body: Completion, content: str, cited: Mapping[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "refusal": None, **cited}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {**_head(body, "chat.completion"), "choices": [choice], "usage": _USAGE}


def _chunks(body: Completion, pieces: Sequence[str], cited: Mapping[str, Any]) -> list[ServerSentEvent]:
    head = _head(body, "chat.completion.chunk")
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces), *filter(None, [cited])]
    chunks: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    chunks.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    data = [{**head, "choices": [chunk]} for chunk in chunks]
    if body.stream_options and body.stream_options.get("include_usage"):
        data.append({**head, "choices": [], "usage": _USAGE})
    return [*(ServerSentEvent(orjson.dumps(chunk).decode()) for chunk in data), ServerSentEvent("[DONE]")]


def _head(body: Completion, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{secrets.token_hex(12)}", "object": kind, "created": int(time.time()), "model": body.model}


def _json(data: Any) -> Response:
    return Response(orjson.dumps(data), media_type="application/json")
