"""OpenAI's chat completions API, for chat clients such as Open WebUI, LibreChat and the package openai."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Annotated, Any
from urllib.parse import quote

import orjson
from fastapi import APIRouter, Request, Response
from pydantic import Field
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException

from convqa.components.base import PARTIAL
from convqa.domain import Exchange
from convqa.domain import Response as TurnResponse
from convqa.exports import replies
from convqa.server import chat_text
from convqa.server.guard import ERRORS, GuardedRoute, stream
from convqa.server.service import PendingTurn
from convqa.server.turns import BoundedList, Filters, RequestCaller, address_of, prepared, service_of
from convqa.validation import Record, Text

router = APIRouter(prefix="/v1", route_class=GuardedRoute, responses=ERRORS)

_CLIENT_PROMPT = re.compile(
    r"\s*### Task:|\s*Provide a concise, 5-word-or-less title|\s*Analyze this conversation and provide"
    r"|\s*Please generate a concise title"
)
"""The beginnings of prompts that Open WebUI and LibreChat send on their own."""

_FIRST_QUESTION = re.compile(r"^[ \t]*(?:USER|User|Human|user):[ \t]*(\S.*)$", re.M)
_MAX_TITLE_CHARS = 60
_TEXT_TYPES = frozenset(["text", "input_text"])


class MessagePart(Record, extra="allow"):
    """A part of a message. Parts other than text are ignored."""

    type: str
    text: Text | None = None


class Message(Record, extra="allow"):
    """A message. Roles other than user and assistant are ignored."""

    role: str
    content: Text | BoundedList[MessagePart] | None = None

    @property
    def text(self) -> str:
        """The text, or the text parts, one a line."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.type in _TEXT_TYPES and part.text)


class CompletionRequest(Record, extra="allow"):
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
async def complete(
    request: Request,
    body: CompletionRequest,
    caller: RequestCaller,
) -> Response:
    """Answer the last message; the messages before it are the conversation.

    Citations appear as marks with a list of sources in the text, as ``annotations`` of type url_citation (indices into
    the text, in code points), and as ``citations`` with passage, quote and offsets into the passage's text.
    """
    service = service_of(request, body.model)
    question, history = conversation(body.messages)
    if _CLIENT_PROMPT.match(question):
        reply = reply_to_client(question, history)
        if body.stream:
            return EventSourceResponse(_chunks(body, _head(body), [reply], {}, (0, 0)))
        return _completion(body, reply, {}, (0, 0))
    turn = prepared(request, service, caller, question, history, body.filter)
    pending = service.ask(turn)
    address = address_of(request)
    if body.stream:
        seconds = request.app.state.config.limits.seconds
        return stream(pending, _events(pending, body, address, service.name), seconds)
    try:
        response = await pending.response
        pieces, cited = _answered(response, pending, address, service.name)
    finally:
        pending.response.cancel()
    return _completion(body, "".join(pieces), cited, response.usage)


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


def reply_to_client(prompt: str, history: Sequence[Exchange]) -> str:
    """Reply to a prompt that a client sends on its own: the first question as a title, nothing else."""
    match = _FIRST_QUESTION.search(prompt)
    first = history[0].question if history else ""
    title = shorten(match[1] if match else first, _MAX_TITLE_CHARS, placeholder=" ...")
    return orjson.dumps({"title": title}).decode() if prompt.lstrip().startswith("### Task:") else title


async def _events(
    pending: PendingTurn,
    body: CompletionRequest,
    address: str,
    pipeline: str,
) -> AsyncIterator[ServerSentEvent]:
    """Yield the chunks of an answer, after the stages as comments, which clients ignore.

    Sentences of a language model are sent as they arrive.
    """
    head = _head(body)
    sent = ""
    async for label, output in pending.outputs():
        if label != PARTIAL:
            yield ServerSentEvent(comment=label)
            continue
        text = "".join(chat_text.sentence_pieces(output, pending.turn.language))
        role = {} if sent else {"role": "assistant"}
        yield _chunk(head, {**role, "content": text[len(sent) :]})
        sent = text
    response = await pending.response
    pieces, cited = _answered(response, pending, address, pipeline)
    whole = "".join(pieces)
    if sent:
        # The answer differs from what was sent only if the model failed on the way.
        pieces = [whole.removeprefix(sent) if whole.startswith(sent) else f"\n\n{whole}"]
    for chunk in _chunks(body, head, pieces, cited, response.usage):
        yield chunk


def _answered(
    response: TurnResponse, pending: PendingTurn, address: str, pipeline: str
) -> tuple[list[str], dict[str, Any]]:
    """Return the pieces of a message's text, and its annotations and citations.

    :raises HTTPException: 500 for a failed turn.
    """
    if response.error is not None:
        raise HTTPException(500, replies.failure_message(response.error))
    pieces = list(chat_text.pieces(response, pending.turn.language))
    citations = {citation.number: citation for citation in replies.citations(response)}
    if not citations:
        return pieces, {}
    annotations = []
    for start, end, number in chat_text.marks("".join(pieces)):
        if number in citations:
            link = _link(citations[number], address, pipeline)
            url_citation = {**link, "start_index": start, "end_index": end}
            annotations.append({"type": "url_citation", "url_citation": url_citation})
    return pieces, {"annotations": annotations, "citations": list(citations.values())}


def _link(
    citation: replies.CitationReply,
    address: str,
    pipeline: str,
) -> dict[str, str]:
    """Return title and URL of a passage, on this server if the passage has no URL."""
    url = citation.url
    if not chat_text.is_address(url):
        passage = quote(citation.passage, safe="")
        url = f"{address}#p={passage}&pipeline={quote(pipeline)}"
    return {"url": url, "title": citation.title or citation.passage}


def _completion(
    body: CompletionRequest,
    content: str,
    cited: Mapping[str, Any],
    usage: tuple[int, int],
) -> Response:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, "refusal": None, **cited},
        "finish_reason": "stop",
        "logprobs": None,
    }
    data = {**_head(body, "chat.completion"), "choices": [choice], "usage": _usage(usage)}
    return Response(orjson.dumps(data), media_type="application/json")


def _chunks(
    body: CompletionRequest,
    head: Mapping[str, Any],
    pieces: Sequence[str],
    cited: Mapping[str, Any],
    usage: tuple[int, int],
) -> Iterator[ServerSentEvent]:
    deltas: list[Any] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in pieces]
    if cited:
        deltas.append(cited)
    for delta in deltas:
        yield _chunk(head, delta)
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if body.stream_options and body.stream_options.get("include_usage"):
        yield _event({**head, "choices": [], "usage": _usage(usage)})
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
