"""Tools of the Model Context Protocol, by which agents ask a pipeline and search and read its collection."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import asdict
from threading import Lock
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

import convqa
from convqa.components.base import Retriever
from convqa.domain import Failure, Passage, Rewrite, Turn, TurnId
from convqa.domain.batches import Rewrites, Turns
from convqa.errors import ordinary_errors
from convqa.exports import replies
from convqa.qa import QA, Talk
from convqa.server.config import Limits
from convqa.stores import open_store
from convqa.validation import QuestionText

_INSTRUCTIONS = (
    "Answers questions from one collection of passages. Ask in the user's own words, and go on with the conversation "
    "that ask returns: it completes follow-up questions itself. Answers quote passages; show their numbered citations."
)
_MAX_CONVERSATIONS = 1000
"""Conversations in memory; older ones are forgotten."""

_REPLY_FIELDS = ("conversation", "question", "rewrite", "answer", "citations", "caveat")
_READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
BoundedText = Annotated[QuestionText, Field(max_length=Limits().question)]


def create_server(qa: QA, name: str) -> MCPServer:
    """Create the server of a loaded pipeline with this name. It keeps conversations in memory."""
    server = MCPServer("convqa", version=convqa.__version__, instructions=_INSTRUCTIONS, log_level="WARNING")
    collection = qa.pipeline.collection
    lock = Lock()
    retrievers = [station for _, station in qa.pipeline.graph.walk() if isinstance(station, Retriever)]
    talks: OrderedDict[str, Talk] = OrderedDict()

    @server.tool(annotations=_READ_ONLY)
    def ask(question: BoundedText, conversation: str = "") -> dict[str, Any]:
        """Answer a question with sentences from the passages, each with the numbers of its citations.

        To follow up, pass the conversation of an earlier answer. A citation names its passage's id and quotes the
        characters [start, end) of the text. A sentence with a mark lacks support: show the mark. Kind "none" means no
        answer, with a reason and the nearest passages; kind "question" asks the user something; kind "talk" needs none.
        """
        with lock:
            if conversation and conversation not in talks:
                raise ToolError("Unknown conversation. Leave it out to begin a new one.")
            id = conversation or secrets.token_urlsafe(12)
            talk = talks.setdefault(id, qa.conversation(id))
            talks.move_to_end(id)
            response = talk.ask(question)
            if len(talks) > _MAX_CONVERSATIONS:
                talks.popitem(last=False)
        if response.error is not None:
            raise ToolError(f"The {response.error.stage} failed to process this question.")
        reply = asdict(replies.turn(response, question, name, id))
        return {field: reply[field] for field in _REPLY_FIELDS}

    @server.tool(annotations=_READ_ONLY)
    def search(query: BoundedText, k: Annotated[int, Field(ge=1, le=20)] = 5) -> dict[str, Any]:
        """Return the best k passages for a self-contained query, with their texts, best first."""
        if not retrievers or collection is None:
            raise ToolError("This pipeline searches no collection.")
        turn = Turn(TurnId(1, 1), query, language=qa.pipeline.language)
        rewrite = Rewrite.unchanged(query)
        with ordinary_errors():
            (ranking,) = retrievers[0].run(Turns((turn,)), Rewrites((rewrite,)))["rankings"]
        if isinstance(ranking, Failure):
            raise ToolError("The search failed for this query.")
        passages = [
            {"score": hit.score, **_passage_json(hit.passage)} for hit in ranking.hits[:k] if hit.passage is not None
        ]
        return {"passages": passages}

    @server.tool(annotations=_READ_ONLY)
    def passage(id: BoundedText) -> dict[str, Any]:
        """Return a whole passage, given the id from a citation or a search."""
        with ordinary_errors():
            fetched = None if collection is None else open_store(collection).fetch([id])[0]
        if fetched is None:
            raise ToolError("There is no such passage.")
        return _passage_json(fetched)

    return server


def _passage_json(passage: Passage) -> dict[str, Any]:
    return {"title": "", "url": "", "meta": {}} | passage.to_json()
