"""Tools of the Model Context Protocol, by which agents ask a pipeline and search and read its collection."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from itertools import islice
from textwrap import shorten
from threading import Lock
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict

import convqa
from convqa.components.base import Retriever
from convqa.domain import Failure, MetaField, Passage, Rewrite, Turn, TurnId
from convqa.domain.batches import Rewrites, Turns
from convqa.errors import ordinary_errors
from convqa.exports import replies
from convqa.qa import QA, Talk
from convqa.server.config import Limits
from convqa.stores import open_store
from convqa.stores.address import name_of
from convqa.stores.base import Store
from convqa.validation import QuestionText

_INSTRUCTIONS = (
    "Answers questions from one collection of passages. Ask in the user's own words, and go on with the conversation "
    "that ask returns: it completes follow-up questions itself. Answers quote passages; show their numbered citations."
)
_ASK = (
    "Answer a question with sentences from the passages, each with the numbers of its citations. A citation names its "
    "passage's id and quotes the characters [start, end) of the text. A sentence with a mark lacks support: show the "
    'mark. Kind "none" means no answer, with a reason and the nearest passages; kind "question" asks the user '
    'something; kind "talk" needs no passages.'
)
_SEARCH = "Return the best passages for a self-contained query, with their texts, best first."
_MAX_CONVERSATIONS = 1000
"""Conversations in memory; older ones are forgotten."""

_EXAMPLE_TITLES = 3
"""Titles that describe a collection to an agent."""
_MAX_TITLE_CHARS = 60
_READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
BoundedText = Annotated[QuestionText, Field(max_length=Limits().question)]
Question = Annotated[BoundedText, Field(description="The question, in the user's own words.")]
ConversationId = Annotated[
    str | None, Field(description="The conversation of an earlier answer, to follow up; none to begin a new one.")
]
SearchQuery = Annotated[BoundedText, Field(description="A self-contained query: words or a question.")]
Count = Annotated[int | None, Field(ge=1, le=20, description="How many passages to return; 5 by default.")]
PassageId = Annotated[BoundedText, Field(description="The id of a passage, from a citation or a search.")]


class PassageResult(TypedDict):
    """A passage."""

    id: str
    text: str
    title: str
    url: str
    meta: dict[str, MetaField]


class SearchHit(PassageResult):
    """A passage with its score."""

    score: float


class SearchResult(TypedDict):
    """The passages of a search, best first."""

    passages: list[SearchHit]


class AskResult(TypedDict):
    """An answer with its citations. ``conversation``: to pass on with the next question."""

    conversation: str
    question: str
    rewrite: replies.RewriteReply | None
    answer: replies.AnswerReply | None
    citations: list[replies.CitationReply]
    caveat: str


def create_server(qa: QA, name: str) -> MCPServer:
    """Create the server of a loaded pipeline with this name. It keeps conversations in memory."""
    server = MCPServer(
        "convqa",
        version=convqa.__version__,
        instructions=_INSTRUCTIONS,
        log_level="WARNING",
    )
    collection = qa.pipeline.collection
    store = None if collection is None else open_store(collection)
    about = "" if store is None else _description(store, str(collection))
    lock = Lock()
    retrievers = [station for _, station in qa.pipeline.graph.walk() if isinstance(station, Retriever)]
    talks: OrderedDict[str, Talk] = OrderedDict()

    @server.tool(annotations=_READ_ONLY, description=f"{_ASK}{about}")
    def ask(question: Question, conversation: ConversationId = None) -> AskResult:
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
        reply = replies.turn(response, question, name, id)
        return {name: getattr(reply, name) for name in AskResult.__annotations__}  # type: ignore[return-value]

    @server.tool(annotations=_READ_ONLY, description=f"{_SEARCH}{about}")
    def search(query: SearchQuery, k: Count = None) -> SearchResult:
        if not retrievers or collection is None:
            raise ToolError("This pipeline searches no collection.")
        turn = Turn(TurnId(1, 1), query, language=qa.pipeline.language)
        rewrite = Rewrite.unchanged(query)
        with ordinary_errors():
            (ranking,) = retrievers[0].run(Turns((turn,)), Rewrites((rewrite,)))["rankings"]
        if isinstance(ranking, Failure):
            raise ToolError("The search failed for this query.")
        hits = [hit for hit in ranking.hits[: k or 5] if hit.passage is not None]
        return SearchResult(passages=[SearchHit(score=hit.score, **_passage_result(hit.passage)) for hit in hits])

    @server.tool(annotations=_READ_ONLY)
    def passage(id: PassageId) -> PassageResult:
        """Return a whole passage, given the id from a citation or a search."""
        with ordinary_errors():
            fetched = None if store is None else store.fetch([id])[0]
        if fetched is None:
            raise ToolError("There is no such passage.")
        return _passage_result(fetched)

    return server


def _description(store: Store, url: str) -> str:
    """Return a sentence about a collection, with the first titles, by which an agent chooses among servers."""
    info = store.info()
    titles = dict.fromkeys(shorten(passage.title, _MAX_TITLE_CHARS) for passage in islice(store.scan(), 100))
    some = "; ".join([title for title in titles if title][:_EXAMPLE_TITLES])
    among = f", such as: {some}" if some else ""
    return f" The collection {name_of(url, info.source)} has {info.count} passages{among}."


def _passage_result(passage: Passage) -> PassageResult:
    return PassageResult(
        id=passage.id, text=passage.text, title=passage.title, url=passage.url, meta=dict(passage.meta)
    )
