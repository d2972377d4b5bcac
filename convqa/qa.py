"""The Python API: ``convqa.load(...)`` returns an assistant that holds conversations or answers many at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import NoneType
from typing import Any

from convqa.components.filtering import filter_of
from convqa.domain import Conversation, Exchange, MetaValue, Response, Turn, TurnId
from convqa.driver.history import HistoryMode, checked, exchange, in_language
from convqa.driver.waves import BATCH_SIZE, WAIT_SECONDS, answer, drive
from convqa.errors import InputError, RunError
from convqa.indexing import collection_of
from convqa.pipeline.llm import Llm, read_llm
from convqa.pipeline.load import Pipeline
from convqa.pipeline.load import load as load_pipeline
from convqa.text.analysis import analyzer
from convqa.validation import shorten, want


def load(
    pipeline: str | Path = "talk",
    collection: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    llm: str | Path | Llm | None = None,
) -> QA:
    """Load a pipeline and open its collection.

    :param pipeline: a shipped name or the path of a YAML file.
    :param collection: a folder made by ``convqa index``, or a file of passages (JSONL, plain or gzip), which is
        indexed once into the cache.
    :param overrides: ``node.param`` or ``node.type`` -> value, as ``--set`` has them.
    :param llm: a language model that rewrites questions and writes answers, where a server of OpenAI's API has one: a
        name of ``configs/llms`` or a file that names its model too, or ``read_llm(URL, MODEL)``.
    :raises ConvqaError: if the pipeline or the collection is not as it should be.
    """
    want("pipeline", pipeline, (str, Path), "a shipped name or the path of a YAML file")
    want("collection", collection, (str, Path, NoneType), "a folder, a URL or a file of passages")
    want("overrides", overrides, (Mapping, NoneType), "a mapping such as {'retriever.top_k': 20}")
    want("llm", llm, (str, Path, Llm, NoneType), "a name, the path of a YAML file, or read_llm(...)")
    for key in overrides or {}:
        want("overrides", key, str, "strings such as 'retriever.top_k' as its keys")
    with _ordinary_errors():
        made = load_pipeline(pipeline, overrides, read_llm(llm) if isinstance(llm, str | Path) else llm)
        return QA(ready(made, None if collection is None else collection_of(str(collection))))


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
        with _ordinary_errors():
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

    def ask(self, question: str, filter: Mapping[str, MetaValue | Collection[MetaValue]] | None = None) -> Response:
        """Answer a question and remember the exchange. A turn that failed is a response with an error.

        :param filter: meta field -> accepted value, or several: only passages that have one of them, in each of the
            fields, are searched and cited.
        :raises ConvqaError: if the work cannot go on (a store that is away).
        """
        want("question", question, str, "a string")
        id, accepted = TurnId(self.id, len(self.history) + 1), filter_of(filter)
        turn = Turn(id, question, self.history, None, self._scenario, self._language, accepted)
        with _ordinary_errors():
            response = answer(self._qa.pipeline, [turn])[0]
        self.history = (*self.history, exchange(turn, response))
        return response


@contextmanager
def _ordinary_errors() -> Iterator[None]:
    """Run errors cross Haystack as BaseException; callers of a library expect an Exception."""
    try:
        yield
    except RunError as error:
        raise error.ordinary() from error
