"""The Python API: ``convqa.load(...)`` returns an assistant for single conversations and for batches."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from types import NoneType
from typing import Any, Literal

from convqa.components.base import PARTIAL
from convqa.components.encoding import ModelOptions
from convqa.components.filtering import filter_of
from convqa.domain import (
    DEFAULT_LANGUAGE,
    Answer,
    Conversation,
    Exchange,
    MetaValue,
    Passage,
    Response,
    Sentence,
    Turn,
    TurnId,
)
from convqa.domain.batches import Batch
from convqa.driver.history import HistoryMode, checked, exchange, in_language
from convqa.driver.waves import BATCH_SIZE, WAIT_SECONDS, answer, drive
from convqa.errors import ArgumentError, InputError, ordinary_errors
from convqa.indexing import (
    Indexed,
    add_vectors,
    collection_of,
    collection_of_passages,
    default_encoder,
    index_sources,
)
from convqa.models import Options, load_encoder
from convqa.pipeline.llm import Llm, read_llm
from convqa.pipeline.load import load as load_pipeline
from convqa.pipeline.pipeline import OnOutput, Pipeline
from convqa.text.analysis import analyzer
from convqa.validation import expect_type, shorten

_OPTION = re.compile(r"convqa [a-z]+ [^.]*|(?<!\S)--([a-z][a-z-]+)")
"""An option, or a command, whose options stay."""
_ARGUMENTS = {"--allow-download": "CONVQA_ALLOW_DOWNLOAD=1", "--llm-model": "model=", "--set": "overrides="}
"""Options of the command line that have other names in Python."""


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
    :param collection: a folder made by ``convqa index``, or passages, which are indexed once into the cache: a file
        (JSONL, plain or gzip), or a list of :class:`convqa.Passage`.
    :param overrides: ``node.param`` or ``node.type`` -> value, as in ``--set``. A type may be a class of yours, also
        one of a notebook.
    :param llm: a language model that rewrites questions and writes answers, on a server with OpenAI's API: a name in
        ``configs/llms`` or a file, which includes the model's name, or ``read_llm(URL, MODEL)``.
    :param language: the language of a list or file of passages; a collection has its own.
    :param options: default options of models, such as ``{"device": "cuda", "precision": "bfloat16"}``.
    :raises ConvqaError: for a malformed or unknown pipeline or collection.
    """
    expect_type("pipeline", pipeline, (str, Path), "a shipped name or the path of a YAML file")
    expected = "a folder, a URL, a file of passages or a list of them"
    expect_type("collection", collection, (str, Path, Iterable, NoneType), expected)
    expect_type("overrides", overrides, (Mapping, NoneType), "a mapping such as {'retriever.top_k': 20}")
    for key in overrides or {}:
        expect_type("overrides", key, str, "strings such as 'retriever.top_k' as its keys")
    with ordinary_errors(), _errors_name_arguments():
        loaded = load_pipeline(pipeline, overrides, read_llm(llm) if isinstance(llm, str | Path) else llm, options)
        if isinstance(collection, str | Path):
            return QA(ready(loaded, collection_of(str(collection), language)))
        passages = None if collection is None else list(collection)
        for passage in passages or ():
            expect_type("collection", passage, Passage, expected)
        return QA(ready(loaded, None if passages is None else collection_of_passages(passages, language)))


def index(
    sources: str | Path | Sequence[str | Path],
    collection: str | Path,
    *,
    add: bool = False,
    replace: bool = False,
    language: str | None = None,
    vectors: str | Literal[False] | None = None,
    base_url: str = "",
    options: ModelOptions | None = None,
) -> Indexed:
    """Index documents or files of passages, as ``convqa index`` does. Unchanged documents are not read again.

    Unreadable documents are logged as warnings and listed in ``unread`` of the result.

    :param sources: documents and folders of them, ``SCHEME:...`` of a source that another package adds, or JSONL files
        of passages. :param collection: a folder or a URL.
    :param add: keep passages that are not among the sources. :param replace: index everything again.
    :param language: the language of the texts; None = the collection's, or English.
    :param vectors: the encoder that makes a vector for every passage. None = ``encoder``, or ``multilingual`` if
        only that one knows the language and is installed, for up to 50,000 and 12,000 passages. False = no vectors.
    :param base_url: the URL of the folder of documents, for the ``url`` of their passages.
    :param options: options of the encoder, as in :func:`load`.
    :raises ConvqaError: if nothing is readable, or the collection is not writable.
    """
    given = [sources] if isinstance(sources, str | Path) else sources
    with ordinary_errors(), _errors_name_arguments():
        encoder = load_encoder(vectors, Options(**(options or {}))) if vectors else None
        indexed = index_sources(
            given,
            str(collection),
            add=add,
            replace=replace,
            language=language,
            base_url=base_url,
        )
        if vectors is None:
            encoder = default_encoder(str(collection))
        return indexed if encoder is None else dataclasses.replace(indexed, info=add_vectors(str(collection), encoder))


@contextmanager
def _errors_name_arguments() -> Iterator[None]:
    """Name arguments of Python instead of options of the command line in messages: ``llm=`` instead of ``--llm``."""
    try:
        yield
    except InputError as error:
        raise ArgumentError(_OPTION.sub(_argument, str(error))) from error


def _argument(option: re.Match[str]) -> str:
    if option[1] is None:
        return option[0]
    return _ARGUMENTS.get(option[0]) or f"{option[1].replace('-', '_')}="


def ready(pipeline: Pipeline, collection: str | None) -> Pipeline:
    """Bind a pipeline to the URL of its collection, if it has one, and load its models.

    :raises InputError: for an unknown collection or model.
    """
    if collection is not None:
        pipeline.bind(collection)
    pipeline.warm_up()
    return pipeline


class QA:
    """A loaded pipeline with its collection. It has no state and serves any number of conversations."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self._language = pipeline.language

    def conversation(
        self,
        id: int | str = "talk",
        language: str | None = None,
        scenario: str = "",
    ) -> Talk:
        """Start a new conversation, by default in the collection's language.

        :param scenario: what the user says about themselves beforehand; part of every turn.
        :raises InputError: for parameters of other types, and an unknown language.
        """
        if language is not None:
            expect_type("language", language, str, "a language such as 'en'")
            analyzer(language)
        return Talk(self, id, language or self._language, scenario)

    def drive(
        self, conversations: Iterable[Conversation], history: HistoryMode = "own", batch_size: int = BATCH_SIZE
    ) -> Iterator[Response]:
        """Answer whole conversations, ``batch_size`` at a time. Yields responses wave by wave.

        :raises ConvqaError: for malformed conversations, conversations that do not fit ``history``, or failed work.
        """
        if isinstance(conversations, str) or not isinstance(conversations, Iterable):
            got = shorten(conversations)
            raise InputError(f"conversations: expected a list of convqa.domain.Conversation, got {got}.")
        expect_type("batch_size", batch_size, int, "a whole number")
        with ordinary_errors():
            walked = list(in_language(checked(conversations, history), self._language))
            for wave in drive(
                self.pipeline,
                walked,
                history,
                batch_size,
                WAIT_SECONDS,
            ):
                yield from wave.responses

    def ask(self, question: str, filter: GivenFilter = None) -> Response:
        """Answer a single question, without a history. :meth:`Talk.ask` describes parameters and errors."""
        return self.conversation().ask(question, filter)


GivenFilter = Mapping[str, MetaValue | Collection[MetaValue]] | None
"""Meta field -> accepted value, or several; only passages that match all fields are searched."""


class Talk:
    """One conversation, whose history is the context of each question."""

    def __init__(
        self,
        qa: QA,
        id: int | str,
        language: str,
        scenario: str = "",
    ) -> None:
        self._qa = qa
        self.id = id
        self._language = language
        self._scenario = scenario
        self.history: tuple[Exchange, ...] = ()

    def ask(
        self,
        question: str,
        filter: GivenFilter = None,
        on_output: OnOutput | None = None,
    ) -> Response:
        """Answer a question and add the exchange to the history. A failed turn is a response with an error.

        :param filter: meta field -> accepted value, or several; only passages that match all fields are searched.
        :param on_output: a callback for each output as it is made: ``on_output("rewrites", batch)`` ..., with one
            item per batch.
        :raises ConvqaError: if the work cannot continue (an unavailable store).
        """
        expect_type("question", question, str, "a string")
        id, accepted = TurnId(self.id, len(self.history) + 1), filter_of(filter)
        turn = Turn(
            id,
            question,
            self.history,
            None,
            self._scenario,
            self._language,
            accepted,
        )
        with ordinary_errors():
            response = answer(self._qa.pipeline, [turn], on_output)[0]
        self.history = (*self.history, exchange(turn, response))
        return response

    def sentences(self, question: str, filter: GivenFilter = None) -> Iterator[Sentence]:
        """Answer a question and yield the answer's sentences, those of a language model as they arrive.

        Afterwards, the history has the exchange. The parameters are those of :meth:`ask`.

        :raises ConvqaError: as :meth:`ask` does.
        """
        partial: SimpleQueue[Answer | None] = SimpleQueue()

        def report(label: str, batch: Batch) -> None:
            if label == PARTIAL:
                partial.put(batch.items[0])

        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(self.ask, question, filter, report)
            asked.add_done_callback(lambda _: partial.put(None))
            shown = 0
            for answer in iter(partial.get, None):
                yield from answer.sentences[shown:]
                shown = len(answer.sentences)
            whole = asked.result().answer
            yield from whole.sentences[shown:] if whole else ()
