"""Helpers for stations with vectors: the texts of a query, their mean vector, and the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from convqa.components.history import OpenQuestion, Past, questions_with_history, reads
from convqa.domain import Query, Ranking, Rewrite, Turn
from convqa.errors import InputError
from convqa.models import Options, TextEncoder, load_encoder
from convqa.models.kinds.query_encoder import QueryEncoder, load_query_encoder
from convqa.models.source import find_model, local_models
from convqa.models.types import Device, Model, Precision
from convqa.stores.base import Encoder, Info, Store, WritableStore

Matrix = NDArray[np.float32]

DEFAULT_ENCODERS = {"encoder": 50_000, "multilingual": 12_000}
"""The encoders that are chosen by a collection's language -> up to how many passages get their vectors without being
asked: about a quarter of an hour on two cores. The second one does not ship."""

HISTORY_SHARE = 0.75
"""Weight of the query encoder's vector; the rest is that of the query's texts, because it strays after a change of
topic."""


@with_config(ConfigDict(strict=True, extra="forbid"))
class ModelOptions(TypedDict, total=False):
    """Options of a model, with the defaults of :class:`convqa.models.Options`."""

    device: Device
    precision: Precision


class QueryVectors:
    """Makes the vectors of queries: the mean of the vectors of their distinct texts, normalized.

    The texts of a query are its own words, these with its history terms, and the self-contained question, unless the
    rewrite has several queries. They work well with every rewriter (docs/benchmarks/vectors.md). The models are loaded
    on first use, once per process.

    :param name: an encoder: a folder or a Hugging Face name; None = the shipped one.
    :param query_encoder: a model that encodes questions with their history; None = none.
    """

    def __init__(
        self,
        name: str | None,
        options: ModelOptions | None = None,
        query_encoder: str | None = None,
    ) -> None:
        self.name = name or "encoder"
        self.options = Options(**(options or {}))
        self._query_encoder = query_encoder

    @cached_property
    def model(self) -> TextEncoder:
        return load_encoder(self.name, self.options)

    @cached_property
    def history_model(self) -> QueryEncoder | None:
        """The query encoder; None if its vectors are not comparable with those of the encoder."""
        if self._query_encoder is None:
            return None
        model = load_query_encoder(self._query_encoder)
        return model if model.family == self.model.family else None

    def models(self) -> dict[str, Model]:
        """Return the models by the names of their parameters."""
        models: dict[str, Model] = {"encoder": self.model}
        if self.history_model is not None:
            models["query_encoder"] = self.history_model
        return models

    def with_histories(self, turns: Sequence[Turn], matrix: Matrix) -> Matrix:
        """Return vectors of questions with ``HISTORY_SHARE`` of the query encoder's, for those with a history.

        :param matrix: the vector of each turn's question, without its history.
        """
        questions = questions_with_history(turns)
        questions = [question for question in questions if reads(question.text, question.language)]
        if self.history_model is None or not questions:
            return matrix
        mixed = matrix.copy()
        for question, vector in zip(questions, self.of_histories(questions), strict=True):
            mixed[question.row] = HISTORY_SHARE * vector + (1 - HISTORY_SHARE) * matrix[question.row]
        return unit(mixed)

    def of_histories(self, questions: Sequence[OpenQuestion]) -> Matrix:
        """Return the query encoder's vectors of questions with their histories."""
        asked = tuple((question.text, tuple(question.history)) for question in questions)
        return _history_vectors(cast(QueryEncoder, self.history_model), asked)

    def encode(
        self,
        rewrites: Sequence[Rewrite],
        queries: Sequence[Query],
    ) -> tuple[NDArray[np.intp], Matrix]:
        """Return the indexes of the queries with a text, and their vectors.

        ``queries[i]`` belongs to ``rewrites[i]``. Each distinct text of a batch is encoded once.
        """
        texts = [_texts(rewrite, query) for rewrite, query in zip(rewrites, queries, strict=True)]
        indexes = np.flatnonzero([bool(some) for some in texts])
        distinct = tuple(dict.fromkeys(chain.from_iterable(texts)))
        vectors = _vectors(self.model, distinct)
        vector_of = dict(zip(distinct, vectors, strict=True))
        means = [np.mean([vector_of[text] for text in texts[index]], axis=0) for index in indexes]
        matrix = np.stack(means) if means else vectors[:0]
        return indexes, unit(matrix)

    def of_rewrites(self, rewrites: Sequence[Rewrite]) -> list[Matrix | None]:
        """Return each rewrite's vector, the normalized weighted sum of its queries' vectors; None without words."""
        owners = [index for index, rewrite in enumerate(rewrites) for _ in rewrite.queries]
        queries = [query for rewrite in rewrites for query in rewrite.queries]
        indexes, matrix = self.encode([rewrites[owner] for owner in owners], queries)
        sums: dict[int, Matrix] = {}
        for index, vector in zip(indexes, matrix, strict=True):
            weighted = np.float32(queries[index].weight) * vector
            owner = owners[index]
            sums[owner] = sums[owner] + weighted if owner in sums else weighted
        return [unit(sums[index][None])[0] if index in sums else None for index in range(len(rewrites))]


def _texts(rewrite: Rewrite, query: Query) -> list[str]:
    """Return the distinct texts of a query that are not empty."""
    question = rewrite.text.strip() if len(rewrite.queries) <= 1 else ""
    texts = dict.fromkeys((query.text.strip(), expanded(query), question))
    return [text for text in texts if text]


@lru_cache(maxsize=4)
def _vectors(model: TextEncoder, texts: tuple[str, ...]) -> Matrix:
    """Return cached vectors, which a pipeline's retriever and reader share. The key is the whole batch, because vectors
    may differ by a rounding between batches."""
    vectors = model.remembered(texts, role="query")
    vectors.setflags(write=False)
    return vectors


@lru_cache(maxsize=4)
def _history_vectors(model: QueryEncoder, asked: tuple[tuple[str, tuple[Past, ...]], ...]) -> Matrix:
    """Return cached vectors of questions with their histories, which the retriever and the reader share."""
    vectors = model.encode(asked)
    vectors.setflags(write=False)
    return vectors


def passage_vectors(
    model: TextEncoder,
    store: Store,
    rankings: Sequence[Ranking],
) -> dict[str, Matrix]:
    """Return the vector of every hit by id: the collection's if it is of this encoder, otherwise a new one."""
    ids = list(dict.fromkeys(hit.id for ranking in rankings for hit in ranking.hits))
    vectors: dict[str, Matrix] = {}
    if store.info().encoder == named(model):
        stored = zip(ids, cast(WritableStore, store).vectors(ids), strict=True)
        vectors = {id: vector for id, vector in stored if vector is not None}
    missing = [id for id in ids if id not in vectors]
    passages = [passage for passage in store.fetch(missing) if passage is not None]
    encoded = model.remembered([passage.whole_text for passage in passages])
    vectors.update(zip([passage.id for passage in passages], encoded, strict=True))
    return vectors


def encoder_of(store: Store) -> str:
    """Return the name of the encoder that made a collection's vectors; without one, or if it is not here, the first
    default one that is here and knows the language, else the shipped one."""
    info = store.info()
    if info.encoder is not None:
        with suppress(InputError):
            return find_model(info.encoder.name).name
    here = [name for name in DEFAULT_ENCODERS if name in local_models()]
    return next((name for name in here if load_encoder(name).knows(info.language)), "encoder")


def named(model: TextEncoder) -> Encoder:
    """Return an encoder's identity in stores."""
    return Encoder(model.name, model.family, model.dimension)


def unknown_language(
    model: TextEncoder,
    info: Info,
    place: str,
    consequence: str = "its passages are ranked by words alone",
) -> str:
    """Return a warning that an encoder does not know a collection's language, or ""."""
    if model.knows(info.language):
        return ""
    return (
        f"{place} is in language {info.language!r}, which the encoder {model.name!r} does not know: "
        f"{consequence}. convqa models get multilingual FOLDER adds an encoder of many languages "
        "(docs/reference/languages.md)"
    )


def expanded(query: Query) -> str:
    """Return a query as plain text: its text and its terms, without weights.

    >>> expanded(Query("Who wrote it?", (("Faust", 0.3), ("Weimar", 0.3))))
    'Who wrote it? Faust Weimar'
    """
    return " ".join([query.text.strip(), *(term for term, weight in query.terms if weight > 0)]).strip()


def unit(matrix: NDArray[Any]) -> Matrix:
    """Normalize the rows to length 1, except zero rows."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    rows: Matrix = (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return rows
