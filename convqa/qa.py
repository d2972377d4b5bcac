"""The Python API: ``convqa.load(...)`` returns an assistant that holds conversations or answers many at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any

from convqa.components.encoding import ModelOptions
from convqa.components.filtering import filter_of
from convqa.domain import DEFAULT_LANGUAGE, Conversation, Exchange, MetaValue, Passage, Response, Turn, TurnId
from convqa.driver.history import HistoryMode, checked, exchange, in_language
from convqa.driver.waves import BATCH_SIZE, WAIT_SECONDS, answer, drive
from convqa.errors import InputError, ordinary_errors
from convqa.indexing import Indexed, add_vectors, collection_of, collection_of_passages, index_sources
from convqa.models import Options, load_encoder
from convqa.pipeline.llm import Llm, read_llm
from convqa.pipeline.load import Made, Pipeline
from convqa.pipeline.load import load as load_pipeline
from convqa.text.analysis import analyzer
from convqa.validation import shorten, want


def load(
    pipeline: str | Path = "talk",
    collection: str | Path | Iterable[Passage] | None = None,
    overrides: Mapping[str, Any] | None = None,
    llm: str | Path | Llm | None = None,
    *,
    language: str = DEFAULT_LANGUAGE,
    options: ModelOptions | None = None,
) -> QA:
    """Load a pipeline and open its collection.

    :param pipeline: a shipped name or the path of a YAML file.
    :param collection: a folder made by ``convqa index``; or passages, which are indexed once into the cache: a file of
        them (JSONL, plain or gzip), or a list of :class:`convqa.Passage`.
    :param overrides: ``node.param`` or ``node.type`` -> value, as ``--set`` has them. A type may be a class of yours,
        a notebook's too.
    :param llm: a language model that rewrites questions and writes answers, where a server of OpenAI's API has one: a
        name of ``configs/llms`` or a file that names its model too, or ``read_llm(URL, MODEL)``.
    :param language: of passages that are indexed here; a collection has its own.
    :param options: ``{"device": "cuda", "precision": "bfloat16"}``, or one of them: how models run, where the pipeline
        does not say so.
    :raises ConvqaError: if the pipeline or the collection is not as it should be.
    """
    want("pipeline", pipeline, (str, Path), "a shipped name or the path of a YAML file")
    wanted = "a folder, a URL, a file of passages or a list of them"
    want("collection", collection, (str, Path, Iterable, NoneType), wanted)
    want("language", language, str, "a language such as 'en'")
    want("overrides", overrides, (Mapping, NoneType), "a mapping such as {'retriever.top_k': 20}")
    want("llm", llm, (str, Path, Llm, NoneType), "a name, the path of a YAML file, or read_llm(...)")
    want("options", options, (Mapping, NoneType), "a mapping such as {'device': 'cuda'}")
    for key in overrides or {}:
        want("overrides", key, str, "strings such as 'retriever.top_k' as its keys")
    with ordinary_errors():
        made = load_pipeline(pipeline, overrides, read_llm(llm) if isinstance(llm, str | Path) else llm, options)
        if isinstance(collection, str | Path):
            return QA(ready(made, collection_of(str(collection), language)))
        passages = None if collection is None else list(collection)
        for passage in passages or ():
            want("collection", passage, Passage, wanted)
        return QA(ready(made, None if passages is None else collection_of_passages(passages, language)))


def index(
    sources: str | Path | Sequence[str | Path],
    collection: str | Path,
    *,
    add: bool = False,
    replace: bool = False,
    language: str | None = None,
    vectors: str | None = None,
    base_url: str = "",
    options: ModelOptions | None = None,
) -> Indexed:
    """Index documents (again: what has changed of them), or files of passages, as ``convqa index`` does.

    Documents that cannot be read are in ``unread`` of what is returned, and logged as warnings.

    :param sources: documents and folders of them, or JSONL files of passages. :param collection: a folder or a URL.
    :param add: leave in the collection what is not among the sources. :param replace: make it anew.
    :param language: of the texts; None = that of the collection, or English.
    :param vectors: an encoder, such as ``encoder``: give every passage a vector too.
    :param base_url: where the folder of documents is served, for the ``url`` of their passages.
    :param options: how the encoder runs, as in :func:`load`.
    :raises ConvqaError: if nothing can be read, or the collection cannot be written.
    """
    paths = [Path(source) for source in ([sources] if isinstance(sources, str | Path) else sources)]
    how = {"add": add, "replace": replace, "language": language, "base_url": base_url}
    with ordinary_errors():
        encoder = None if vectors is None else load_encoder(vectors, Options(**(options or {})))
        made = index_sources(paths, str(collection), **how)  # type: ignore[arg-type]
        return made if encoder is None else dataclasses.replace(made, info=add_vectors(str(collection), encoder))


def ready(pipeline: Pipeline, collection: str | None) -> Pipeline:
    """Bind a pipeline to the URL of its collection, if it has one, and load its models: the same at every door.

    :raises InputError: for a collection or a model that does not exist.
    """
    if collection is not None:
        pipeline.bind(collection)
    pipeline.warm_up()
    return pipeline


class QA:
    """A loaded pipeline with its collection. Holds no conversation itself: use as many at once as you like."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self._language = pipeline.language

    def conversation(self, id: int | str = "talk", language: str | None = None, scenario: str = "") -> Talk:
        """A new conversation, with an empty history, in the collection's language unless another is named.

        :param scenario: what the user says of themselves beforehand; every turn has it.
        :raises InputError: for parameters of other types, and a language that is not known.
        """
        want("id", id, (int, str), "a whole number or a string")
        want("scenario", scenario, str, "a string")
        if language is not None:
            want("language", language, str, "a language such as 'en'")
            analyzer(language)
        return Talk(self, id, language or self._language, scenario)

    def drive(
        self, conversations: Iterable[Conversation], history: HistoryMode = "own", batch_size: int = BATCH_SIZE
    ) -> Iterator[Response]:
        """Answer whole conversations, ``batch_size`` of them at a time; responses come wave by wave.

        :raises ConvqaError: for what are no conversations or do not fit ``history``, or if the work cannot go on.
        """
        if isinstance(conversations, str) or not isinstance(conversations, Iterable):
            raise InputError(
                f"conversations: found {shorten(conversations)}; wanted a list of convqa.domain.Conversation."
            )
        want("batch_size", batch_size, int, "a whole number")
        with ordinary_errors():
            walked = list(in_language(checked(conversations, history), self._language))
            for wave in drive(self.pipeline, walked, history, batch_size, WAIT_SECONDS):
                yield from wave.responses


class Talk:
    """One conversation: every question sees the exchanges before it."""

    def __init__(self, qa: QA, id: int | str, language: str, scenario: str = "") -> None:
        self._qa = qa
        self.id = id
        self._language = language
        self._scenario = scenario
        self.history: tuple[Exchange, ...] = ()

    def ask(
        self,
        question: str,
        filter: Mapping[str, MetaValue | Collection[MetaValue]] | None = None,
        told: Made | None = None,
    ) -> Response:
        """Answer a question and remember the exchange. A turn that failed is a response with an error.

        :param filter: meta field -> accepted value, or several: only passages that have one of them, in each of the
            fields, are searched and cited.
        :param told: hears of each output as soon as it is made: ``told("rewrites", batch)`` ..., one item in a batch.
        :raises ConvqaError: if the work cannot go on (a store that is away).
        """
        want("question", question, str, "a string")
        id, accepted = TurnId(self.id, len(self.history) + 1), filter_of(filter)
        turn = Turn(id, question, self.history, None, self._scenario, self._language, accepted)
        with ordinary_errors():
            response = answer(self._qa.pipeline, [turn], told)[0]
        self.history = (*self.history, exchange(turn, response))
        return response
