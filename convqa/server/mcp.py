"""Tools for agents by the Model Context Protocol: a pipeline and its collection, to ask, to search and to read."""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from threading import Lock
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field, ValidationError
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

import convqa
from convqa.components.base import Retriever
from convqa.domain import Failure, Passage, Rewrite, Turn, TurnId
from convqa.domain.batches import Rewrites, Turns
from convqa.errors import RunError
from convqa.qa import QA, Talk
from convqa.server import replies
from convqa.server.config import Limits
from convqa.stores import open_store
from convqa.validation import QuestionText, explain

KEY = "CONVQA_MCP_KEY"
"""The environment variable of the key that a server wants which others can reach."""

_INSTRUCTIONS = (
    "Answers questions from one collection of passages. Ask in the user's own words, and go on with the conversation "
    "that ask returns: it completes follow-up questions itself. Answers quote passages; show their numbered citations."
)
_KEPT = 1000
"""Conversations that are remembered, the latest."""

_READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
Text = Annotated[QuestionText, Field(max_length=Limits().question)]


class _Server(MCPServer):
    """Says mistakes in the words that the server over HTTP has for them."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                told = "; ".join(f"{field}: {message}" for field, message in explain(error.__cause__))
                raise ToolError(f"{told}.") from None
            raise (error.__cause__ if isinstance(error.__cause__, ToolError) else error) from None


def create_server(qa: QA, name: str) -> MCPServer:
    """The server of a pipeline that is ready. It remembers conversations while it runs. :param name: the pipeline's."""
    server = _Server("convqa", version=convqa.__version__, instructions=_INSTRUCTIONS, log_level="WARNING")
    collection, lock = qa.pipeline.collection, Lock()
    retriever = next((one for _, one in qa.pipeline.graph.walk() if isinstance(one, Retriever)), None)
    talks: OrderedDict[str, Talk] = OrderedDict()

    @server.tool(annotations=_READ_ONLY)
    def ask(question: Text, conversation: str = "") -> dict[str, Any]:
        """Answer a question with sentences from the passages, each with the numbers of its citations.

        Give the conversation that an earlier answer named, to follow up. A citation has its passage's id, and quotes
        the characters [start, end) of its text. Kind "none" is no answer, with its reason and the nearest passages;
        kind "question" asks back.
        """
        with lock:
            if conversation and conversation not in talks:
                raise ToolError("There is no such conversation. Leave it out to begin one.")
            id = conversation or secrets.token_urlsafe(12)
            talk = talks.setdefault(id, qa.conversation(id))
            talks.move_to_end(id)
            response = talk.ask(question)
            if len(talks) > _KEPT:
                talks.popitem(last=False)
        if response.error is not None:
            raise ToolError(f"The {response.error.stage} failed at this question.")
        told = replies.turn(response, question, name, id)
        return {part: told[part] for part in ("conversation", "question", "rewrite", "answer", "citations", "caveat")}

    @server.tool(annotations=_READ_ONLY)
    def search(query: Text, k: Annotated[int, Field(ge=1, le=20)] = 5) -> dict[str, Any]:
        """The best k passages for a query that stands alone, with their texts, best first."""
        if retriever is None or collection is None:
            raise ToolError("This pipeline searches no collection.")
        turns = Turns((Turn(TurnId(1, 1), query, language=qa.pipeline.language),))
        try:
            (found,) = retriever.run(turns, Rewrites((Rewrite.unchanged(query),)))["rankings"]
        except RunError as error:
            raise ToolError(str(error.ordinary())) from error
        if isinstance(found, Failure):
            raise ToolError("The search failed at this query.")
        hits = [hit for hit in found.hits[:k] if hit.passage is not None]
        return {"passages": [{"score": hit.score, **_shown(hit.passage)} for hit in hits if hit.passage]}

    @server.tool(annotations=_READ_ONLY)
    def passage(id: Text) -> dict[str, Any]:
        """A passage, whole, by the id that citations and searches name."""
        try:
            found = None if collection is None else open_store(collection).fetch([id])[0]
        except RunError as error:
            raise ToolError(str(error.ordinary())) from error
        if found is None:
            raise ToolError("There is no such passage.")
        return _shown(found)

    return server


def _shown(passage: Passage) -> dict[str, Any]:
    return {"title": "", "url": "", "meta": {}} | passage.to_json()


class Keyed:
    """Lets only those in who know the key: ``Authorization: Bearer KEY``."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app, self._wanted = app, f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] != "http" or hmac.compare_digest(given, self._wanted):
            await self._app(scope, receive, send)
        else:
            refusal = PlainTextResponse("This server wants a key.", 401, {"WWW-Authenticate": "Bearer"})
            await refusal(scope, receive, send)
