"""Components for pipelines of Haystack, to combine with its own retrievers, document stores and generators.

Each runs stations of a convqa pipeline (``default``, another shipped one, or a file), with ``overrides`` as in
``--set``. Haystack loads them from YAML if ``convqa`` is allowed:
``Pipeline.loads(text, allowed_modules=["convqa"])``. docs/reference/haystack.md has a complete example.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar

from haystack import Document, GeneratedAnswer, component
from haystack.dataclasses import ChatMessage
from pydantic import Field

from convqa.components.base import Builder, Decider, Reader, Rewriter, Station
from convqa.components.encoding import expanded
from convqa.components.filtering import both, filter_of
from convqa.components.haystack import filter_of_conditions, ranked, to_document, to_passage
from convqa.components.members import member
from convqa.domain import DEFAULT_LANGUAGE, Exchange, Failure, Hit, Ranking, Rewrite, Turn, TurnId
from convqa.domain.batches import Batch, Rankings, Rewrites, Turns
from convqa.driver.history import exchange, response_of
from convqa.errors import InputError, WorkError, ordinary_errors
from convqa.exports import replies
from convqa.indexing import collection_of
from convqa.pipeline.load import load as load_pipeline
from convqa.pipeline.pipeline import OUTPUTS, Pipeline
from convqa.text.analysis import analyzer
from convqa.validation import shorten

_OURS = "convqa"
"""The key in a reply's ``meta`` with the rewrite and the status, for later turns."""


@member
class _Part:
    """A sequence of stations of a pipeline, for one conversation at a time.

    :param pipeline: a shipped name or the path of a YAML file. :param overrides: overrides of the pipeline, as in
        ``--set``. :param language: the language of the conversation and the documents.
    :raises InputError: for a malformed or unsuitable pipeline.
    """

    kinds: ClassVar[tuple[type[Station], ...]]
    makes: ClassVar[str]
    """The label of the last output."""

    pipeline: str = "default"
    overrides: dict[str, Any] = Field(default_factory=dict)
    language: str = DEFAULT_LANGUAGE

    def __post_init__(self) -> None:
        analyzer(self.language)
        loaded = _loaded(self.pipeline, self.overrides, self.makes)
        components = [loaded.graph.get_component(name) for name in loaded.document.in_order()]
        self._stations = [station for station in components if isinstance(station, self.kinds)]

    def warm_up(self) -> None:
        """Load the models."""
        with ordinary_errors():
            for station in self._stations:
                station.warm_up()

    def _run(self, **batches: Batch) -> dict[str, Any]:
        """Return the single items of the given batches and of the stations' outputs, by label."""
        self.warm_up()
        with ordinary_errors():
            for station in self._stations:
                sockets = inspect.signature(station.run).parameters
                batches |= station.run(**{name: batches[name] for name in sockets if name in batches})
        return _only(batches)


@member
class QuestionRewriter(_Part):
    """Makes the last question of a chat self-contained, so that a retriever can search it.

    It runs the rewriter of a ``pipeline``, with ``overrides`` such as ``{"rewriter.min_probability": 0.3}``.
    """

    kinds = (Rewriter,)
    makes = "rewrites"

    @component.output_types(query=str, queries=list[str])
    def run(self, messages: list[ChatMessage]) -> dict[str, Any]:
        """Rewrite the user's last message.

        :returns: ``query``: the self-contained question; ``queries``: queries for a search by words, with the words
            of the conversation that the question needs; none for small talk.
        """
        history, last = conversation_of(messages)
        turns = Turns((_turn(_question(last), history, self.language),))
        rewrite = self._run(turns=turns)["rewrites"]
        return {"query": rewrite.text, "queries": [expanded(query) for query in rewrite.queries]}


@member
class CitedAnswerBuilder(_Part):
    """Answers a question with sentences of retrieved documents, each cited by its characters.

    It runs reader, builder and decider of a ``pipeline``, with ``overrides`` such as ``{"builder.target_words": 30}``.
    ``default`` always answers; ``talk`` refuses if the documents do not seem to answer.
    """

    kinds = (Reader, Builder, Decider)
    makes = "answers"

    @component.output_types(answers=list[GeneratedAnswer], replies=list[ChatMessage])
    def run(
        self,
        query: str,
        documents: list[Document],
        messages: list[ChatMessage] | None = None,
    ) -> dict[str, Any]:
        """Answer from the documents' ``content``.

        :param query: the self-contained question. :param documents: best first.
        :param messages: the conversation, with earlier answers.
        :returns: ``answers``: one answer. ``data`` is its text, ``documents`` are the cited documents, and ``meta`` has
            the sentences with their numbers and the citations: each number's document, the characters [start, end) of
            its ``content``, and their quote. Without an answer, ``data`` is empty and ``meta`` has a reason.
            ``replies``: the answer as the assistant's message, to append to the messages.
        """
        history, last = conversation_of(messages or [])
        turn = _turn(last or query, history, self.language)
        hits = [Hit(document.id, document.score or 0.0, to_passage(document)) for document in documents]
        ranking = ranked(hits, all(document.score is not None for document in documents))
        items = self._run(
            turns=Turns((turn,)),
            rewrites=Rewrites((Rewrite.unchanged(query),)),
            rankings=Rankings((ranking,)),
        )
        return _answer(turn, {label: items.get(label) for label in OUTPUTS}, documents)


@member
class ConversationalQA:
    """A whole pipeline, from a chat's messages to a cited answer.

    :param pipeline: a shipped name or the path of a YAML file. :param collection: the passages, as in
        ``--collection``. :param overrides: overrides of the pipeline, as in ``--set``.
    :raises InputError: for a malformed pipeline, or one without answers.
    """

    pipeline: str = "talk"
    collection: str | None = None
    overrides: dict[str, Any] = Field(default_factory=dict)

    def __post_init__(self) -> None:
        self._loaded = _loaded(self.pipeline, self.overrides, "answers")

    def warm_up(self) -> None:
        """Open the collection (passages in a file are indexed once) and load the models."""
        with ordinary_errors():
            if self._loaded.collection is None and self.collection is not None:
                self._loaded.bind(collection_of(self.collection))
            self._loaded.warm_up()

    @component.output_types(
        answers=list[GeneratedAnswer], replies=list[ChatMessage], documents=list[Document], query=str
    )
    def run(
        self,
        messages: list[ChatMessage] | None = None,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
        filters: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Answer ``query``, by default the user's last message.

        :param messages: the conversation. :param query: the question, if it is not the last message.
        :param filter: meta field -> the accepted values. :param filters: a filter in Haystack's form, of the operators
            ==, in and AND.
        :returns: ``answers`` and ``replies`` as in :class:`CitedAnswerBuilder`; ``documents``: the best passages;
            ``query``: the self-contained question.
        """
        history, last = conversation_of(messages or [])
        if query is None:
            query = _question(last)
        elif last not in {None, query}:
            history.append(Exchange(str(last), status="unanswered"))
        accepted = both(filter_of(filter), filter_of_conditions(filters))
        turn = replace(_turn(query, history, self._loaded.language), filter=accepted)
        with ordinary_errors():
            outputs = self._loaded.run(Turns((turn,)))
        batches = {label: getattr(outputs, label) for label in OUTPUTS}
        items = _only({label: batch for label, batch in batches.items() if batch is not None})
        hits = items.get("rankings", Ranking()).hits
        documents = [to_document(hit) for hit in hits if hit.passage is not None]
        result = _answer(turn, dict.fromkeys(OUTPUTS) | items, documents)
        return {**result, "documents": documents, "query": result["answers"][0].query}


def _loaded(name: str, overrides: dict[str, Any], makes: str) -> Pipeline:
    # The file may come with a pipeline of somebody else's, so that it may not name modules of its own.
    loaded = load_pipeline(name, overrides, trusted=False)
    if makes not in loaded.stages:
        raise InputError(f"pipeline {name}: expected a pipeline that makes {makes}.")
    return loaded


def conversation_of(messages: Sequence[ChatMessage]) -> tuple[list[Exchange], str | None]:
    """Return the exchanges of a chat and its last question, None if the last message is not the user's.

    Messages without text, and those of the system and of tools, are ignored.

    :raises InputError: for values that are not messages.
    """
    if isinstance(messages, str) or not all(isinstance(message, ChatMessage) for message in messages):
        raise InputError(f"messages: expected a list of Haystack's ChatMessage, got {shorten(messages)}.")
    history: list[Exchange] = []
    is_open = False
    for message in messages:
        text = message.text or ""
        role = message.role.value
        if text and role == "user":
            history.append(Exchange(text, status="unanswered"))
            is_open = True
        elif role == "assistant" and (text or _OURS in message.meta):
            before = history.pop() if history else Exchange("")
            known = {"rewrite": None, "status": "answered", **message.meta.get(_OURS, {})}
            history.append(replace(before, answer=f"{before.answer} {text}".strip(), **known))
            is_open = False
    if is_open:
        return history[:-1], history[-1].question
    return history, None


def _question(last: str | None) -> str:
    if last is None:
        raise InputError("messages: the last one is not the user's; expected a question.")
    return last


def _turn(question: str, history: Sequence[Exchange], language: str) -> Turn:
    id = TurnId("haystack", len(history) + 1)
    return Turn(id, question, tuple(history), language=language)


def _answer(
    turn: Turn,
    items: dict[str, Any],
    documents: Sequence[Document],
) -> dict[str, Any]:
    """Return a turn's answer, and the same as the assistant's message."""
    response = response_of(turn, items, {})
    reply = asdict(replies.turn(response, turn.question, ""))
    answered = exchange(turn, response)
    meta: dict[str, Any] = dict(reply["answer"] or {})
    text = meta.pop("text")
    meta["citations"] = [
        {"document" if name == "passage" else name: value for name, value in citation.items()}
        for citation in reply["citations"]
    ]
    ids = [document.id for document in documents]
    cited = []
    for id in dict.fromkeys(citation["document"] for citation in meta["citations"]):
        index = ids.index(id)
        document = documents[index]
        source = {"source_index": index + 1, "referenced": True}
        cited.append(replace(document, meta={**document.meta, **source}))
    message = ChatMessage.from_assistant(text, meta={_OURS: {"rewrite": answered.rewrite, "status": answered.status}})
    return {"answers": [GeneratedAnswer(text, answered.rewrite or turn.question, cited, meta)], "replies": [message]}


def _only(batches: Mapping[str, Batch]) -> dict[str, Any]:
    """Return the only item of each batch. :raises WorkError: for a failed turn."""
    items = {}
    for label, batch in batches.items():
        (item,) = batch.items
        if isinstance(item, Failure):
            raise WorkError(f"{item.stage} failed: {item.error}: {item.message}")
        items[label] = item
    return items
