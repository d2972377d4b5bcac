"""OpenAI's API of chat completions, which chat clients speak: Open WebUI, LibreChat, the package openai."""

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
from convqa.domain import Response as Answered
from convqa.server import chat_text, replies
from convqa.server.guard import ERRORS, Guarded, stream
from convqa.server.service import Asked, Service
from convqa.server.turns import Asker, Filters, Some, prepared, service_of
from convqa.validation import Record, Text

router = APIRouter(prefix="/v1", route_class=Guarded, responses=ERRORS)

_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
"""Clients want the field; nothing here is counted or paid by token."""

_ERRANDS = re.compile(
    r"\s*### Task:|\s*Provide a concise, 5-word-or-less title|\s*Analyze this conversation and provide"
    r"|\s*Please generate a concise title"
)
"""How the prompts begin that clients send on their own: Open WebUI's and LibreChat's."""

_FIELDS = ("title", "tags", "follow_ups", "queries", "text", "emoji")
"""Of the JSON that Open WebUI's prompts ask for."""
_FIRST_SAID = re.compile(r"^[ \t]*(?:USER|User|Human|user):[ \t]*(\S.*)$", re.M)
_TITLE = 60
_TEXTS = frozenset(["text", "input_text"])


class Part(Record, extra="allow"):
    """A part of a message; those that are no text are passed over."""

    type: str
    text: Text | None = None


def _parts(content: Any) -> Any:
    if content is not None and not isinstance(content, str | list):
        raise ValueError("wanted a string or a list of parts")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class Message(Record, extra="allow"):
    """A message; of other roles than user and assistant it is passed over."""

    role: str
    content: Annotated[Some[Part] | None, BeforeValidator(_parts, str | Some[Part] | None)] = None

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content or () if part.type in _TEXTS and part.text)


class Completion(Record, extra="allow"):
    """A request. ``filter`` is ours: meta field -> accepted values; other fields are passed over."""

    model: str
    messages: Annotated[Some[Message], Field(min_length=1)]
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None
    filter: Filters = {}


@router.get("/models")
async def models(request: Request) -> dict[str, Any]:
    """The pipelines that are served, as models."""
    return {"object": "list", "data": [_model(name) for name in request.app.state.services]}


@router.get("/models/{id}")
async def model(request: Request, id: str) -> dict[str, Any]:
    """A pipeline, as a model."""
    return _model(service_of(request, id).name)


@router.post("/chat/completions")
async def complete(request: Request, body: Completion, caller: Asker) -> Response:
    """Answer the last message, with those before it as the conversation.

    Citations come as marks with a list of sources in the text, as ``annotations`` of type url_citation (indices into
    the text, in code points), and as ``citations`` with passage, quote and offsets into the passage's text.
    """
    service = service_of(request, body.model)
    question, history = conversation(body.messages)
    if _ERRANDS.match(question):
        text = errand(question, history)
        return EventSourceResponse(iter(_chunks(body, [text], {}))) if body.stream else _json(_reply(body, text, {}))
    turn = prepared(request, service, caller, question, history, body.filter)
    asked = service.ask(turn)
    if body.stream:
        seconds = request.app.state.config.limits.seconds
        return stream(asked, _answering(asked, body, str(request.base_url), service, seconds), seconds)
    try:
        response = _sound(await asked.response)
    finally:
        asked.response.cancel()
    content = "".join(chat_text.pieces(response, turn.language))
    return _json(_reply(body, content, _cited(response, content, str(request.base_url), service)))


def conversation(messages: Sequence[Message]) -> tuple[str, list[Exchange]]:
    """The question and the exchanges before it. Questions in a row are one; answers to no question are passed over.

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
    """The reply to a prompt that a client sends on its own: a title is the first question, all else is empty."""
    said = _FIRST_SAID.search(prompt)
    first = said[1] if said else history[0].question if history else ""
    title = shorten(first, _TITLE, placeholder=" ...")
    field = next((name for name in _FIELDS if f'"{name}"' in prompt), None)
    if field is None:
        return title
    empty = title if field == "title" else [] if field in {"tags", "follow_ups", "queries"} else ""
    return orjson.dumps({field: empty}).decode()


async def _answering(
    asked: Asked, body: Completion, address: str, service: Service, seconds: float
) -> AsyncIterator[ServerSentEvent]:
    """The chunks of an answer; stages come as comments, which clients pass over."""
    async with asyncio.timeout(seconds):
        async for label, _ in asked.outputs():
            yield ServerSentEvent(comment=label)
        response = _sound(await asked.response)
    said = list(chat_text.pieces(response, asked.turn.language))
    for chunk in _chunks(body, said, _cited(response, "".join(said), address, service)):
        yield chunk


def _sound(response: Answered) -> Answered:
    """:raises HTTPException: 500 for a turn that failed."""
    if response.error is not None:
        raise HTTPException(500, f"The {response.error.stage} failed at this question.")
    return response


def _cited(response: Answered, content: str, address: str, service: Service) -> dict[str, Any]:
    """The annotations and citations of a message."""
    citations = {citation["number"]: citation for citation in replies.citations(response)}
    annotations = [
        {"type": "url_citation", "url_citation": {**_named(citations[number], address, service.name),
                                                  "start_index": start, "end_index": end}}
        for start, end, number in chat_text.marks(content)
        if number in citations
    ]  # fmt: skip
    return {"annotations": annotations, "citations": list(citations.values())} if citations else {}


def _named(citation: Mapping[str, Any], address: str, pipeline: str) -> dict[str, str]:
    """Where a passage can be opened: its own address, or this server's."""
    passage, url = citation["passage"], citation["url"]
    own = f"{address}api/passages/{quote(passage, safe='')}?pipeline={quote(pipeline)}"
    return {"url": url if chat_text.is_address(url) else own, "title": citation["title"] or passage}


def _reply(body: Completion, content: str, cited: Mapping[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "refusal": None, **cited}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {**_head(body, "chat.completion"), "choices": [choice], "usage": _USAGE}


def _chunks(body: Completion, said: Sequence[str], cited: Mapping[str, Any]) -> list[ServerSentEvent]:
    head = _head(body, "chat.completion.chunk")
    deltas = [
        {"role": "assistant", "content": ""},
        *({"content": piece} for piece in said),
        *([cited] if cited else []),
    ]
    chunks: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    chunks.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    data = [{**head, "choices": [chunk]} for chunk in chunks]
    if body.stream_options and body.stream_options.get("include_usage"):
        data.append({**head, "choices": [], "usage": _USAGE})
    return [*(ServerSentEvent(orjson.dumps(one).decode()) for one in data), ServerSentEvent("[DONE]")]


def _head(body: Completion, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{secrets.token_hex(12)}", "object": kind, "created": int(time.time()), "model": body.model}


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "convqa"}


def _json(data: Any) -> Response:
    return Response(orjson.dumps(data), media_type="application/json")
