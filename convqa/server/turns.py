"""The native API: turns, passages, kept conversations."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from sqlite3 import OperationalError
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import FileResponse
from pydantic import Field
from sse_starlette import ServerSentEvent
from starlette.exceptions import HTTPException

from convqa.components.base import PARTIAL
from convqa.components.filtering import both, filter_of, passes
from convqa.documents.formats import document_formats
from convqa.domain import Exchange, ExchangeStatus, MetaValue, Passage, Turn, TurnId
from convqa.exports import replies
from convqa.server.access import Caller
from convqa.server.config import FilterFields
from convqa.server.conversations import MAX_TITLE_CHARS, Conversations, ConversationSummary, KeptTurn
from convqa.server.guard import ERRORS, GuardedRoute, stream
from convqa.server.service import PendingTurn, Service
from convqa.text.dialogue import added, open_question
from convqa.validation import BoundedList, QuestionText, Record, Text

log = logging.getLogger("convqa")
_TEXT = "text/plain; charset=utf-8"
_SHOWN_TYPES = {".pdf": "application/pdf", ".txt": _TEXT, ".md": _TEXT, ".rst": _TEXT, ".csv": _TEXT}
"""Types of documents that browsers show, and that contain no script."""
router = APIRouter(prefix="/api", route_class=GuardedRoute, responses=ERRORS)


Filters = Annotated[dict[str, BoundedList[MetaValue]], Field(max_length=50)]


class HistoryItem(Record, extra="forbid"):
    """An earlier exchange, supplied by the client."""

    question: Text
    answer: Text = ""
    rewrite: Text | None = None
    status: ExchangeStatus = "answered"


class TurnRequest(Record, extra="forbid"):
    """A question, with either the id of a kept ``conversation`` or its ``history``.

    Without either, a new conversation begins. ``number``: the turn of the kept conversation that this one replaces; the
    turns after it are dropped. ``as_typed``: whether the question is understood without the conversation.
    """

    question: QuestionText
    pipeline: str | None = None
    conversation: str | None = None
    number: Annotated[int, Field(ge=1)] | None = None
    history: BoundedList[HistoryItem] | None = None
    as_typed: bool = False
    filter: Filters = {}
    scenario: Text = ""


class FeedbackRequest(Record, extra="forbid"):
    """What a person thinks of an answer; no verdict takes it back."""

    verdict: Literal["good", "bad"] | None
    comment: Text = ""


class TitleRequest(Record, extra="forbid"):
    """A new title of a conversation."""

    title: Annotated[Text, Field(min_length=1, max_length=MAX_TITLE_CHARS)]


@dataclass(frozen=True, slots=True)
class ConversationReply:
    """A kept conversation. Times are ISO 8601 in UTC. ``good`` and ``bad``: numbers of rated answers."""

    id: str
    title: str
    pipeline: str
    created: str
    updated: str
    good: int
    bad: int
    turns: list[replies.TurnReply]


def caller_of(request: Request) -> Caller:
    """Return the caller that the route identified before it read the body."""
    caller: Caller = request.state.caller
    return caller


def conversations_of(request: Request) -> Conversations:
    """:raises HTTPException: 404 if the server keeps none."""
    kept: Conversations | None = request.app.state.conversations
    if kept is None:
        raise HTTPException(404, "This server keeps no conversations.")
    return kept


RequestCaller = Annotated[Caller, Depends(caller_of)]
KeptConversations = Annotated[Conversations, Depends(conversations_of)]
_NOT_STORED = "The server could not store this conversation: its disk is full or cannot be written."
UNKNOWN_CONVERSATION = "There is no such conversation."


def service_of(request: Request, name: str | None, field: str = "pipeline") -> Service:
    """Return the service of a pipeline, which a ``field`` of the request names; None = the first.

    :raises HTTPException: 404 for an unknown pipeline.
    """
    services: dict[str, Service] = request.app.state.services
    if name is None:
        return next(iter(services.values()))
    if name not in services:
        raise HTTPException(404, f"{field}: unknown {field} {name!r:.80}; expected one of {', '.join(services)}.")
    return services[name]


@router.get("/pipelines")
def pipelines(request: Request, caller: RequestCaller) -> dict[str, Any]:
    """List the served pipelines with their collections and example questions, and what else the page must know."""
    config = request.app.state.config
    return {
        "pipelines": [service.description for service in request.app.state.services.values()],
        # The name that a proxy gave the user.
        "user": caller.owner.partition("\n")[2],
        "originals": config.originals is not None,
        "adding": caller.may_add and {"types": sorted(document_formats()), "bytes": config.limits.document_bytes},
        "limit": config.limits.question,
    }


@router.post("/turn", responses={200: {"model": replies.TurnReply, "content": {"text/event-stream": {}}}})
async def turn(
    request: Request,
    body: TurnRequest,
    caller: RequestCaller,
    accept: Annotated[str, Header()] = "application/json",
) -> Response:
    """Answer a question. Offsets are code points: of citations in the passage's text, of sentences in the answer's.

    With ``Accept: text/event-stream``, sends the events ``rewrite``, ``passages`` and ``answer`` (or ``error``), and,
    while a language model writes, ``partial`` with the sentences so far.
    """
    state = request.app.state
    if body.conversation is not None and body.history is not None:
        raise HTTPException(422, "Expected either conversation or history, got both.")
    kept: Conversations | None = state.conversations if body.history is None else None
    history = [Exchange(**item.model_dump()) for item in body.history or ()]
    number = len(history) + 1
    pipeline = body.pipeline
    if body.conversation is not None:
        earlier = await asyncio.to_thread(_turns, conversations_of(request), caller, body.conversation)
        number = body.number or len(earlier) + 1
        if number > len(earlier) + 1:
            raise HTTPException(422, f"number: the conversation has {len(earlier)} turns, got {number}.")
        if not pipeline and earlier[-1].pipeline in state.services:
            pipeline = earlier[-1].pipeline
        history = [turn.exchange for turn in earlier[: number - 1]]
    elif body.number is not None:
        raise HTTPException(422, "number: expected the id of a kept conversation with it.")
    service = service_of(request, pipeline)
    if body.as_typed:
        history = []
    asked = prepared(
        request,
        service,
        caller,
        body.question,
        history,
        body.filter,
        body.scenario,
        number,
    )
    pending = service.ask(asked)

    async def reply() -> replies.TurnReply:
        response = await pending.response
        id = body.conversation
        if kept is not None:
            # The history may have brought in words of any passage that the caller may see.
            visible = replace(asked, filter=caller.filter) if asked.history else asked
            replaces = body.number is not None
            try:
                id = await asyncio.to_thread(kept.add, caller.owner, id, visible, service.name, response, replaces)
            except OperationalError as error:
                log.error("conversations: a turn was not stored: %s", error)
                return replace(replies.turn(response, body.question, service.name), caveat=_NOT_STORED)
            if id is None:
                raise HTTPException(409, "This conversation has changed or was deleted. Load it and ask again.")
        return replies.turn(response, body.question, service.name, id)

    if "text/event-stream" in accept:
        return stream(
            pending,
            _events(pending, reply),
            state.config.limits.seconds,
            error="error",
        )
    try:
        return Response(orjson.dumps(await reply()), media_type="application/json")
    finally:
        pending.response.cancel()


def prepared(
    request: Request,
    service: Service,
    caller: Caller,
    question: str,
    history: Sequence[Exchange],
    filter: FilterFields,
    scenario: str = "",
    number: int | None = None,
) -> Turn:
    """Return the turn of a question, with the server's limits and the caller's filter applied.

    :raises HTTPException: 422 for a question that is too long.
    """
    limits = request.app.state.config.limits
    if len(question) > limits.question:
        raise HTTPException(422, f"question: expected at most {limits.question} characters, got {len(question)}.")
    return Turn(
        TurnId("talk", number or len(history) + 1),
        question,
        tuple(history[max(0, len(history) - limits.history) :]),
        scenario=scenario,
        language=service.language,
        filter=both(caller.filter, filter_of(filter)),
    )


async def _events(
    pending: PendingTurn,
    reply: Callable[[], Awaitable[replies.TurnReply]],
) -> AsyncIterator[ServerSentEvent]:
    async for label, output in pending.outputs():
        if label == "rewrites":
            spans = added(open_question(pending.turn), output.text)
            yield _event("rewrite", replies.rewritten(output, spans))
        elif label == "rankings":
            yield _event("passages", {"ranking": replies.ranking(output)})
        elif label == PARTIAL:
            yield _event(PARTIAL, {"sentences": replies.sentences(output, {})})
    yield _event("answer", await reply())


def _event(name: str, data: Any) -> ServerSentEvent:
    return ServerSentEvent(orjson.dumps(data).decode(), event=name)


def page_address(request: Request) -> str:
    """Return the address of the page, with a slash at its end, for links."""
    address = request.app.state.config.public_url or str(request.base_url)
    return f"{address.rstrip('/')}/"


@router.get("/passages", summary="Passage by ?id=, also one that is no path, such as ..")
@router.get("/passages/{id:path}")
def passage(
    request: Request,
    id: str,
    caller: RequestCaller,
    pipeline: str | None = None,
) -> Passage:
    """Return a passage of a pipeline's collection, if the caller may see it."""
    item = service_of(request, pipeline).passage(id)
    if item is None or not passes(item, caller.filter):
        raise HTTPException(404, "There is no such passage.")
    return item


@router.get("/documents")
def documents(
    request: Request,
    caller: RequestCaller,
    pipeline: str | None = None,
) -> dict[str, dict[str, str]]:
    """Return the titles of the documents of which the caller may see passages, by the file that a filter names."""
    store = service_of(request, pipeline).store
    titles: dict[str, str] = {}
    for item in store.scan() if store else ():
        if "file" in item.meta and passes(item, caller.filter):
            titles.setdefault(str(item.meta["file"]), item.title)
    return {"documents": dict(sorted(titles.items()))}


@router.get("/originals/{id:path}")
def original(
    request: Request,
    id: str,
    caller: RequestCaller,
    pipeline: str | None = None,
) -> FileResponse:
    """Return the document of a passage that the caller may see. Browsers show PDF and text, and save other formats."""
    folder = request.app.state.config.originals
    file = passage(request, id, caller, pipeline).meta.get("file")
    path = Path(folder or "", str(file)).resolve()
    if folder is None or file is None or not path.is_relative_to(Path(folder).resolve()) or not path.is_file():
        raise HTTPException(404, "There is no file of this passage.")
    shown_as = _SHOWN_TYPES.get(path.suffix.lower())
    disposition = "inline" if shown_as else "attachment"
    return FileResponse(path, media_type=shown_as, filename=path.name, content_disposition_type=disposition)


@router.get("/conversations")
def conversations(
    kept: KeptConversations,
    caller: RequestCaller,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, list[ConversationSummary]]:
    """List the caller's kept conversations, at most ``limit``, latest first."""
    return {"conversations": kept.summaries(caller.owner, limit)}


@router.get("/conversations/{id}")
def conversation(
    kept: KeptConversations,
    id: str,
    caller: RequestCaller,
) -> ConversationReply:
    """Return a kept conversation with its turns."""
    summary = kept.find(caller.owner, id)
    if summary is None:
        raise HTTPException(404, UNKNOWN_CONVERSATION)
    turns = []
    for turn in kept.turns(caller, id):
        reply = replies.turn(
            turn.response,
            turn.exchange.question,
            turn.pipeline,
            id,
        )
        turns.append(replace(reply, feedback=turn.feedback))
    return ConversationReply(**asdict(summary) | {"turns": turns})


@router.patch("/conversations/{id}", status_code=204)
def rename(
    kept: KeptConversations,
    id: str,
    caller: RequestCaller,
    body: TitleRequest,
) -> None:
    """Give a kept conversation another title."""
    if not kept.rename(caller.owner, id, body.title):
        raise HTTPException(404, UNKNOWN_CONVERSATION)


@router.put("/conversations/{id}/turns/{number}/feedback", status_code=204)
def rate(
    kept: KeptConversations,
    id: str,
    number: Annotated[int, Field(le=2**31)],
    caller: RequestCaller,
    body: FeedbackRequest,
) -> None:
    """Store what a person thinks of an answer."""
    if not kept.rate(caller.owner, id, number, body.verdict or "", body.comment):
        raise HTTPException(404, UNKNOWN_CONVERSATION)


@router.delete("/conversations/{id}", status_code=204)
def forget(kept: KeptConversations, id: str, caller: RequestCaller) -> None:
    """Delete a kept conversation."""
    if not kept.delete(caller.owner, id):
        raise HTTPException(404, UNKNOWN_CONVERSATION)


def _turns(kept: Conversations, caller: Caller, id: str) -> list[KeptTurn]:
    """:raises HTTPException: 404 if the caller has no such conversation."""
    turns = kept.turns(caller, id)
    if not turns:
        raise HTTPException(404, UNKNOWN_CONVERSATION)
    return turns
