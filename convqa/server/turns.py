"""The API of one's own clients: turns, passages, kept conversations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import Field
from sse_starlette import ServerSentEvent
from starlette.exceptions import HTTPException
from typing_extensions import TypedDict

from convqa.components.filtering import both, filter_of
from convqa.domain import Exchange, ExchangeStatus, MetaValue, Turn, TurnId
from convqa.domain import Response as Answered
from convqa.driver.history import exchange
from convqa.server import replies
from convqa.server.access import Caller, passes
from convqa.server.config import FilterFields
from convqa.server.conversations import Conversations, KeptTurn, Summary
from convqa.server.guard import ERRORS, Guarded, stream
from convqa.server.service import Asked, Service
from convqa.tasks.qrecc import talk
from convqa.text.dialogue import added, open_question
from convqa.validation import QuestionText, Record, Text

router = APIRouter(prefix="/api", route_class=Guarded, responses=ERRORS)


Item = TypeVar("Item")
Some = Annotated[list[Item], Field(max_length=1000, fail_fast=True)]
"""A list of a length that is no attack: its first mistake ends the reading."""
Filters = Annotated[dict[str, Some[MetaValue]], Field(max_length=50)]


class Said(Record, extra="forbid"):
    """An earlier exchange that the client brings."""

    question: Text
    answer: Text = ""
    rewrite: Text | None = None
    status: ExchangeStatus = "answered"


class Question(Record, extra="forbid"):
    """A question. ``conversation`` is the id of a kept one, ``history`` what was said where nothing is kept; not both.

    Without either a conversation begins, and is kept unless ``keep`` is false.
    """

    question: QuestionText
    pipeline: str | None = None
    conversation: str | None = None
    history: Some[Said] | None = None
    filter: Filters = {}
    scenario: Text = ""
    keep: bool = True


class PassageReply(TypedDict):
    """A passage; citations' offsets are code points of its ``text``."""

    id: str
    text: str
    title: str
    url: str
    meta: dict[str, MetaValue]


class ConversationReply(TypedDict):
    """A kept conversation; times are ISO 8601 in UTC."""

    id: str
    title: str
    pipeline: str
    created: str
    updated: str
    turns: list[replies.TurnReply]


def caller_of(request: Request) -> Caller:
    """Who asks; the route has found out before its body was read."""
    found: Caller = request.state.caller
    return found


def conversations_of(request: Request) -> Conversations:
    """:raises HTTPException: 404 where none are kept."""
    kept: Conversations | None = request.app.state.conversations
    if kept is None:
        raise HTTPException(404, "This server keeps no conversations.")
    return kept


Asker = Annotated[Caller, Depends(caller_of)]
Kept = Annotated[Conversations, Depends(conversations_of)]
_UNKNOWN = "There is no such conversation."


def service_of(request: Request, name: str | None) -> Service:
    """A pipeline by its name; None = the first.

    :raises HTTPException: 404 for one that is not served.
    """
    services: dict[str, Service] = request.app.state.services
    if name is None:
        return next(iter(services.values()))
    if name not in services:
        raise HTTPException(404, f"There is no pipeline {name!r:.80}; there are: {', '.join(services)}.")
    return services[name]


@router.get("/pipelines")
def pipelines(request: Request) -> dict[str, Any]:
    """The pipelines that are served, with their collections, and questions to begin with."""
    return {"pipelines": [service.description for service in request.app.state.services.values()]}


@router.post("/turn", responses={200: {"model": replies.TurnReply, "content": {"text/event-stream": {}}}})
async def turn(
    request: Request, body: Question, caller: Asker, accept: Annotated[str, Header()] = "application/json"
) -> Response:
    """Answer a question. Offsets are code points: of citations into the passage's text, of sentences into the answer's.

    With ``Accept: text/event-stream`` the events ``rewrite``, ``passages`` and ``answer`` (or ``error``) come as they
    are made.
    """
    state = request.app.state
    if body.conversation is not None and body.history is not None:
        raise HTTPException(422, "conversation and history exclude each other: give the one that holds what was said.")
    kept: Conversations | None = state.conversations if body.keep and body.history is None else None
    history = [Exchange(**said.model_dump()) for said in body.history or ()]
    number, name = len(history) + 1, body.pipeline
    if body.conversation is not None:
        turns = await asyncio.to_thread(_turns, conversations_of(request), caller, body.conversation)
        history, number = [one.exchange for one in turns if one.response is not None], len(turns) + 1
        name = name or next((one.pipeline for one in turns[-1:] if one.pipeline in state.services), None)
    service = service_of(request, name)
    made = prepared(request, service, caller, body.question, history, body.filter, body.scenario, number)
    asked = service.ask(made)

    async def settled() -> replies.TurnReply:
        response = await asked.response
        id = body.conversation
        if kept is not None:
            # What the rewrite took from the history may be of any passage that the caller may see.
            seen = caller.filter if made.history else made.filter
            id = await asyncio.to_thread(_keep, kept, caller, service.name, replace(made, filter=seen), response, id)
        return replies.turn(response, body.question, service.name, id)

    if "text/event-stream" in accept:
        seconds = state.config.limits.seconds
        return stream(asked, _events(asked, settled, seconds), seconds, error="error")
    try:
        return Response(orjson.dumps(await settled()), media_type="application/json")
    finally:
        asked.response.cancel()


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
    """The turn for a question, within the server's limits, and what the caller may see. It is counted.

    :raises HTTPException: 422 for a question that is too long; 429 for one too many.
    """
    limits = request.app.state.config.limits
    if len(question) > limits.question:
        raise HTTPException(422, f"question: found {len(question)} characters; wanted at most {limits.question}.")
    request.app.state.access.count(caller)
    return Turn(
        TurnId("talk", number or len(history) + 1),
        question,
        tuple(history[max(0, len(history) - limits.history) :]),
        scenario=scenario,
        language=service.language,
        filter=both(caller.filter, filter_of(filter)),
    )


def _keep(kept: Conversations, caller: Caller, pipeline: str, turn: Turn, response: Answered, id: str | None) -> str:
    """Keep a turn in its conversation, or in a new one; that one's id.

    :raises HTTPException: 409 where another turn was answered meanwhile; 404 where the conversation is gone.
    """
    if id is None:
        return kept.begin(caller.owner, turn, pipeline, exchange(turn, response), response)
    if not kept.add(id, turn, pipeline, exchange(turn, response), response):
        if kept.find(caller.owner, id) is None:
            raise HTTPException(404, "This conversation was deleted.")
        raise HTTPException(409, "This conversation went on meanwhile. Load it, and ask again.")
    return id


async def _events(
    asked: Asked, settled: Callable[[], Awaitable[replies.TurnReply]], seconds: float
) -> AsyncIterator[ServerSentEvent]:
    """The events of a turn."""
    async with asyncio.timeout(seconds):
        async for label, made in asked.outputs():
            if label == "rewrites":
                places = added(open_question(asked.turn), made.text)
                yield _event("rewrite", replies.rewritten(made, places))
            elif label == "rankings":
                yield _event("passages", {"ranking": replies.ranking(made)})
        yield _event("answer", await settled())


def _event(name: str, data: Any) -> ServerSentEvent:
    return ServerSentEvent(orjson.dumps(data).decode(), event=name)


@router.get("/passages/{id:path}")
def passage(request: Request, id: str, caller: Asker, pipeline: str | None = None) -> PassageReply:
    """A passage of a pipeline's collection, if the caller may see it."""
    found = service_of(request, pipeline).passage(id)
    if found is None or not passes(found, caller.filter):
        raise HTTPException(404, "There is no such passage.")
    return {"id": found.id, "text": found.text, "title": found.title, "url": found.url, "meta": dict(found.meta)}


@router.get("/conversations")
def conversations(
    kept: Kept,
    caller: Asker,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**62)] = 0,
) -> dict[str, list[Summary]]:
    """The caller's kept conversations, the latest first: ``limit`` of them, after the first ``offset``."""
    return {"conversations": kept.of(caller.owner, limit, offset)}


@router.get("/conversations/{id}")
def conversation(kept: Kept, id: str, caller: Asker) -> ConversationReply:
    """A kept conversation with its turns."""
    summary = kept.find(caller.owner, id)
    if summary is None:
        raise HTTPException(404, _UNKNOWN)
    turns = [
        replies.turn(
            one.response or Answered(TurnId(id, number), error=replies.NO_LONGER),
            one.exchange.question, one.pipeline, id,
        )
        for number, one in enumerate(kept.turns(caller, id), 1)
    ]  # fmt: skip
    return {**asdict(summary), "turns": turns}  # type: ignore[typeddict-item]


@router.delete("/conversations/{id}", status_code=204)
def forget(kept: Kept, id: str, caller: Asker) -> None:
    """Delete a kept conversation."""
    if not kept.delete(caller.owner, id):
        raise HTTPException(404, _UNKNOWN)


@router.get("/conversations/{id}/export", responses={200: {"content": {"application/zip": {}}}})
def export(kept: Kept, id: str, caller: Asker) -> Response:
    """A kept conversation as evaluation data: questions.json and run.json of SCAI-QReCC, in a ZIP file."""
    turns = _turns(kept, caller, id)
    seen = [(one.exchange.question, one.response) for one in turns if one.response is not None]
    headers = {"Content-Disposition": 'attachment; filename="conversation.zip"'}
    return Response(talk.zipped(seen), media_type="application/zip", headers=headers)


def _turns(kept: Conversations, caller: Caller, id: str) -> list[KeptTurn]:
    """:raises HTTPException: 404 where the caller has no conversation of this id."""
    if kept.find(caller.owner, id) is None:
        raise HTTPException(404, _UNKNOWN)
    return kept.turns(caller, id)
