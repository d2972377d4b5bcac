"""Components for pipelines of Haystack, beside its own retrievers, document stores and generators.

Each does what the stations of a convqa pipeline do, which is named as everywhere (``default``, another shipped one, or
a file), with ``overrides`` as ``--set`` has them. Haystack loads them from YAML where it may load ``convqa``:
``Pipeline.loads(text, allowed_modules=["convqa"])``. docs/reference/haystack.md has a whole example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from haystack import Document, GeneratedAnswer, SuperComponent, component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage
from pydantic import Field

from convqa.components.base import Builder, Decider, Reader, Rewriter, Station
from convqa.components.encoding import expanded
from convqa.components.filtering import filter_of
from convqa.components.haystack import ranked, to_document, to_passage
from convqa.components.members import import_type, with_parameters
from convqa.domain import DEFAULT_LANGUAGE, Exchange, Failure, Hit, Ranking, Rewrite, Turn, TurnId
from convqa.domain.batches import Answers, Batch, Rankings, Readings, Rewrites, Turns
from convqa.driver.history import exchange, response_of
from convqa.errors import InputError, WorkError, ordinary_errors
from convqa.indexing import collection_of
from convqa.pipeline import nodes
from convqa.pipeline.compose import compose
from convqa.pipeline.load import OUTPUTS
from convqa.pipeline.load import load as load_pipeline
from convqa.server import replies
from convqa.text.analysis import analyzer
from convqa.validation import shorten, want

Made = dict[str, Any]

_OURS = "convqa"
"""Where a reply's ``meta`` keeps what later turns want to know of it."""


@with_parameters
class _Part:
    """What some stations of a pipeline do, one behind the other, for one conversation at a time.

    :param pipeline: a shipped name or the path of a YAML file. :param overrides: of that pipeline, as ``--set`` has
        them. :param language: of the conversation and the documents.
    :raises InputError: for a pipeline that is not as it should be.
    """

    kinds: ClassVar[tuple[type[Station], ...]]
    makes: ClassVar[str]
    """The last of what they make."""

    pipeline: str = "default"
    overrides: dict[str, Any] = Field(default_factory=dict)
    language: str = DEFAULT_LANGUAGE

    def __post_init__(self) -> None:
        analyzer(self.language)
        document = compose(self.pipeline, self.overrides)
        if self.makes not in document.outputs:
            raise InputError(f"pipeline {self.pipeline}: it makes no {self.makes}; wanted one that does.")
        known = {name: import_type(node.type, f"components.{name}") for name, node in document.components.items()}
        chosen = [name for name in document.in_order() if issubclass(known[name], self.kinds)]
        self._stations = [nodes.make(name, document.components[name]) for name in chosen]

    def warm_up(self) -> None:
        """Load the models."""
        with ordinary_errors():
            for station in self._stations:
                station.warm_up()

    def _made(self, **made: Batch) -> Made:
        """What the stations make, by label, beside what is given."""
        self.warm_up()
        with ordinary_errors():
            for station in self._stations:
                made |= station.run(**{name: made[name] for name in nodes.inputs(station) if name in made})
        return _only(made)


@component
@with_parameters
class QuestionRewriter(_Part):
    """Completes the last question of a chat with what the conversation has said, so that a retriever can search it.

    It is what the rewriter of a ``pipeline`` does, with ``overrides`` such as ``{"rewriter.sure": 0.3}``.
    """

    kinds = (Rewriter,)
    makes = "rewrites"

    @component.output_types(query=str, queries=list[str])
    def run(self, messages: list[ChatMessage]) -> Made:
        """Rewrite the user's last message.

        :returns: ``query``: the question as it can be understood alone; ``queries``: what to search by words, the
            question with the words of the conversation that it needs; none where nothing was asked.
        """
        history, last = conversation_of(messages)
        rewrite = self._made(turns=Turns((_turn(_question(last), history, self.language),)))["rewrites"]
        return {"query": rewrite.text, "queries": [expanded(query) for query in rewrite.queries]}


@component
@with_parameters
class CitedAnswerBuilder(_Part):
    """Answers a question with sentences of the documents that a retriever found, each cited by its characters.

    It is what reader, builder and decider of a ``pipeline`` do, with ``overrides`` such as ``{"builder.words": 30}``:
    ``default`` always answers, ``talk`` says when the documents do not seem to.
    """

    kinds = (Reader, Builder, Decider)
    makes = "answers"

    @component.output_types(answers=list[GeneratedAnswer], replies=list[ChatMessage])
    def run(self, query: str, documents: list[Document], messages: list[ChatMessage] | None = None) -> Made:
        """Answer from the documents' ``content``.

        :param query: the question, understood without the conversation. :param documents: best first.
        :param messages: the conversation, which says what was answered before.
        :returns: ``answers``: one, whose ``data`` is the text, whose ``documents`` are those that it cites, and whose
            ``meta`` has the sentences with their numbers, and the citations: each number's document, the characters
            [start, end) of its ``content``, and these as quote. Where there is no answer, ``data`` is empty and the
            ``meta`` has a reason. ``replies``: the answer as the assistant's message, to be put behind the messages.
        """
        history, last = conversation_of(messages or [])
        turn, rewrite = _turn(last or query, history, self.language), Rewrite.unchanged(query)
        hits = [Hit(document.id, document.score or 0.0, to_passage(document)) for document in documents]
        ranking = ranked(hits, all(document.score is not None for document in documents))
        made = self._made(turns=Turns((turn,)), rewrites=Rewrites((rewrite,)), rankings=Rankings((ranking,)))
        return _told(turn, {label: made[label] for label in OUTPUTS if label in made}, documents)


@component
class ConversationalQA(SuperComponent):
    """A whole pipeline: a chat's messages in, a cited answer out.

    :param pipeline: a shipped name or the path of a YAML file. :param collection: where the passages are, as
        ``--collection`` has it. :param overrides: ``node.param`` or ``node.type`` -> value, as ``--set`` has them.
    :raises InputError: for a pipeline that is not as it should be, or makes no answers.
    """

    def __init__(
        self, pipeline: str = "talk", collection: str | None = None, overrides: dict[str, Any] | None = None
    ) -> None:
        self._parameters = {"pipeline": pipeline, "collection": collection, "overrides": overrides}
        self._made = load_pipeline(pipeline, overrides)
        if "answers" not in self._made.stages:
            raise InputError(f"pipeline {pipeline}: it makes no answers; wanted one that has a builder.")
        self._question = _Question()
        graph = self._made.graph
        graph.add_component("haystack_in", self._question)
        graph.add_component("haystack_out", _Result())
        for receiver in [*self._made.document.inputs["turns"], "haystack_out.turns"]:
            graph.connect("haystack_in.turns", receiver)
        for label, sender in self._made.document.outputs.items():
            graph.connect(sender, f"haystack_out.{label}")
        given = ("messages", "query", "filter")
        made = ("answers", "replies", "documents", "query")
        inputs = {name: [f"haystack_in.{name}"] for name in given}
        SuperComponent.__init__(self, graph, inputs, {f"haystack_out.{name}": name for name in made})

    def warm_up(self) -> None:
        """Open the collection (passages in a file are indexed once) and load the models."""
        with ordinary_errors():
            if self._made.collection is None and self._parameters["collection"] is not None:
                self._made.bind(collection_of(str(self._parameters["collection"])))
                self._question.language = self._made.language
            self._made.warm_up()

    async def warm_up_async(self) -> None:
        """As ``warm_up``."""
        self.warm_up()

    def run(self, **inputs: Any) -> Made:
        """Answer ``query``, or the user's last message where it is left out.

        :param inputs: ``messages``: the conversation; ``query``: the question, where it is not the last message;
            ``filter``: meta field -> the values that a passage may have.
        :returns: ``answers`` and ``replies`` as of :class:`CitedAnswerBuilder`; ``documents``: the best passages that
            were found; ``query``: the question as it was understood.
        """
        with ordinary_errors():
            return SuperComponent.run(self, **inputs)

    async def run_async(self, **inputs: Any) -> Made:
        """As ``run``, where others' components run meanwhile."""
        with ordinary_errors():
            return await SuperComponent.run_async(self, **inputs)

    def to_dict(self) -> Made:
        return default_to_dict(self, **self._parameters)

    @classmethod
    def from_dict(cls, data: Made) -> ConversationalQA:
        return default_from_dict(cls, data)


@component
class _Question:
    """The turn that a conversation asks, for a pipeline of convqa."""

    language = DEFAULT_LANGUAGE

    @component.output_types(turns=Turns)
    def run(
        self,
        messages: list[ChatMessage] | None = None,
        query: str | None = None,
        filter: dict[str, Any] | None = None,
    ) -> Made:
        history, last = conversation_of(messages or [])
        if query is None:
            query = _question(last)
        elif last not in {None, query}:
            history = [*history, Exchange(str(last), status="unanswered")]
        want("query", query, str, "a string")
        return {"turns": Turns((_turn(query, history, self.language, filter=filter_of(filter)),))}


@component
class _Result:
    """What a pipeline of convqa made of a turn, as Haystack's values."""

    @component.output_types(
        answers=list[GeneratedAnswer], replies=list[ChatMessage], documents=list[Document], query=str
    )
    def run(
        self,
        turns: Turns,
        answers: Answers,
        rewrites: Rewrites | None = None,
        rankings: Rankings | None = None,
        readings: Readings | None = None,
    ) -> Made:
        batches = {"rewrites": rewrites, "rankings": rankings, "readings": readings, "answers": answers}
        made = _only({label: batch for label, batch in batches.items() if batch is not None})
        hits = made.get("rankings", Ranking()).hits
        documents = [to_document(hit) for hit in hits if hit.passage is not None]
        (turn,) = turns
        told = _told(turn, made, documents)
        return {**told, "documents": documents, "query": told["answers"][0].query}


def conversation_of(messages: Sequence[ChatMessage]) -> tuple[list[Exchange], str | None]:
    """The exchanges of a chat, and the question at its end; None where the last message is not the user's.

    Messages without text, and those of the system and of tools, are left out.

    :raises InputError: for what are no messages.
    """
    if isinstance(messages, str) or not all(isinstance(message, ChatMessage) for message in messages):
        raise InputError(f"messages: found {shorten(messages)}; wanted a list of Haystack's ChatMessage.")
    history: list[Exchange] = []
    is_open = False
    for message in messages:
        text, role = message.text or "", message.role.value
        if text and role == "user":
            history.append(Exchange(text, status="unanswered"))
            is_open = True
        elif role == "assistant" and (text or _OURS in message.meta):
            before = history.pop() if history else Exchange("")
            known = {"rewrite": None, "status": "answered", **message.meta.get(_OURS, {})}
            history.append(replace(before, answer=f"{before.answer} {text}".strip(), **known))
            is_open = False
    return (history[:-1], history[-1].question) if is_open else (history, None)


def _question(last: str | None) -> str:
    if last is None:
        raise InputError("messages: the last one is not the user's. Wanted: the question at their end.")
    return last


def _turn(question: str, history: Sequence[Exchange], language: str, **more: Any) -> Turn:
    return Turn(TurnId("haystack", len(history) + 1), question, tuple(history), language=language, **more)


def _told(turn: Turn, made: Made, documents: Sequence[Document]) -> Made:
    """A turn's answer, and the same as the assistant's message."""
    response = response_of(turn, {**dict.fromkeys(OUTPUTS), **made}, {})
    told, said = replies.turn(response, turn.question, ""), exchange(turn, response)
    meta: dict[str, Any] = dict(told["answer"] or {})
    citations = told["citations"]
    known = {document.id: (place, document) for place, document in reversed(list(enumerate(documents, 1)))}
    cited = [known[id] for id in dict.fromkeys(citation["passage"] for citation in citations)]
    marked = [replace(one, meta={**one.meta, "source_index": place, "referenced": True}) for place, one in cited]
    meta["citations"] = [
        {"document" if name == "passage" else name: value for name, value in citation.items()} for citation in citations
    ]
    text = meta.pop("text")
    reply = ChatMessage.from_assistant(text, meta={_OURS: {"rewrite": said.rewrite, "status": said.status}})
    return {"answers": [GeneratedAnswer(text, said.rewrite or turn.question, marked, meta)], "replies": [reply]}


def _only(made: Mapping[str, Batch]) -> Made:
    """The one item of each batch. :raises WorkError: for a turn that could not be answered."""
    items = {label: batch.items[0] for label, batch in made.items()}
    for item in items.values():
        if isinstance(item, Failure):
            raise WorkError(f"{item.stage} failed: {item.error}: {item.message}")
    return items
