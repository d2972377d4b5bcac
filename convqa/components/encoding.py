"""Helpers of the stations with vectors: the texts of a turn to encode, the mean of their vectors, the encoder."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import Annotated, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, ConfigDict, Field, with_config
from typing_extensions import TypedDict

from convqa.domain import Query, Ranking, Rewrite
from convqa.errors import InputError
from convqa.models import Options, TextEncoder, load_encoder
from convqa.models.source import find_model
from convqa.models.types import Device, Engine, Precision
from convqa.stores import open_store
from convqa.stores.address import redact
from convqa.stores.base import Encoder, Info, Store, WritableStore

Matrix = NDArray[np.float32]
Text = Literal["question", "expanded", "rewrite"]
"""A text of a query: its own words; these and its history terms; the self-contained question of the rewrite.

The rewrite's belongs to a query that stands alone for its turn. Where a rewrite has several queries, each stands for
itself, and its own words take that text's place: the question among them is searched as it was asked.
"""


@with_config(ConfigDict(strict=True, extra="forbid"))
class ModelOptions(TypedDict, total=False):
    """How a model is run; what is left out is as in :class:`convqa.models.Options`."""

    device: Device
    precision: Precision
    engine: Engine


def _distinct(texts: list[Text]) -> list[Text]:
    if len(set(texts)) < len(texts):
        raise ValueError(f"{texts} names a text twice")
    return texts


Texts = Annotated[list[Text], Field(min_length=1), AfterValidator(_distinct)]
"""Which texts of a query are encoded; its vector is the mean of theirs."""

DEFAULT_TEXTS: tuple[Text, ...] = ("question", "expanded", "rewrite")
"""The mean that serves every rewriter well (docs/benchmarks/vectors.md); where two texts are one, it counts once."""


_SAMPLE = 8
_NEAR = 0.95
"""Cosine of the vectors that two copies of one encoder make of a text, of which one may be of less precision."""

_FEW = 200
"""Passages that are encoded without a word."""
_TYPICAL = "Goethe wrote the first part of Faust in Weimar, where it was printed in 1808. " * 10


class QueryEncoder:
    """Vectors of queries: the mean of the vectors of its different texts, at length 1 unless they are token weights.

    Texts that are equal count once: a turn without history has the plain question's vector. The model is loaded once
    per process, at first need.

    :param name: of an encoder: a shipped one, a folder or a Hugging Face name; or what loads it with the options.
    :param texts: which are encoded.
    """

    def __init__(
        self, name: str | Callable[[Options], TextEncoder], texts: Sequence[Text], options: ModelOptions | None = None
    ) -> None:
        self.name = name
        self.texts = tuple(texts)
        self.options = Options(**(options or {}))

    @cached_property
    def model(self) -> TextEncoder:
        return load_encoder(self.name, self.options) if isinstance(self.name, str) else self.name(self.options)

    @property
    def encoder(self) -> Encoder:
        """The name under which stores keep vectors of it."""
        return named(self.model)

    def encode(self, rewrites: Sequence[Rewrite], queries: Sequence[Query]) -> tuple[NDArray[np.intp], Matrix]:
        """The places of the queries that have a text at all, and their vectors.

        ``queries[i]`` is of ``rewrites[i]``. Each different text of a batch is encoded once.
        """
        made = [[_text_of(name, *row) for name in self.texts] for row in zip(rewrites, queries, strict=True)]
        texts = [list(dict.fromkeys(filter(None, some))) for some in made]
        places = np.flatnonzero([bool(found) for found in texts])
        numbers = {text: number for number, text in enumerate(dict.fromkeys(chain.from_iterable(texts)))}
        vectors = _vectors(self.model, tuple(numbers))
        means = [vectors[[numbers[text] for text in texts[place]]].mean(axis=0) for place in places]
        rows = np.stack(means) if means else vectors[:0]
        return places, rows if self.model.sparse else unit(rows)

    def of_rewrites(self, rewrites: Sequence[Rewrite]) -> list[Matrix | None]:
        """Each rewrite's vector: the sum of its queries' by their weights, at length 1; None where none has a word."""
        owners = [place for place, rewrite in enumerate(rewrites) for _ in rewrite.queries]
        queries = [query for rewrite in rewrites for query in rewrite.queries]
        places, matrix = self.encode([rewrites[owner] for owner in owners], queries)
        summed: list[Matrix | None] = [None] * len(rewrites)
        for place, vector in zip(places, matrix, strict=True):
            before = summed[owners[place]]
            part = np.float32(queries[place].weight) * vector
            summed[owners[place]] = part if before is None else before + part
        return [None if vector is None else unit(vector[None])[0] for vector in summed]


def _text_of(name: Text, rewrite: Rewrite, query: Query) -> str:
    if name == "expanded":
        return expanded(query)
    if name == "rewrite" and len(rewrite.queries) <= 1:
        return rewrite.text.strip()
    return query.text.strip()


@lru_cache(maxsize=4)
def _vectors(model: TextEncoder, texts: tuple[str, ...]) -> Matrix:
    """The retriever and the reader of a pipeline ask for the same ones. By the whole batch: what else was asked before
    must not change, by a rounding, what a model makes of a text."""
    vectors = model.remembered(texts, role="query")
    vectors.setflags(write=False)
    return vectors


def passage_vectors(model: TextEncoder, store: Store, rankings: Sequence[Ranking]) -> dict[str, Matrix]:
    """Passage id -> its vector, for every hit: the collection's where it has one of this encoder, else made now.

    :raises InputError: for a collection whose vectors are not of the encoder that its file names.
    """
    ids = list(dict.fromkeys(hit.id for ranking in rankings for hit in ranking.hits))
    found: dict[str, Matrix] = {}
    if has_vectors_of(model, store):
        # A store with vectors can give them.
        kept = zip(ids, cast(WritableStore, store).vectors(ids), strict=True)
        found = {id: vector for id, vector in kept if vector is not None}
    rest = [id for id in ids if id not in found]
    texts = {id: passage.whole_text for id, passage in zip(rest, store.fetch(rest), strict=True) if passage is not None}
    return found | dict(zip(texts, model.remembered(list(texts.values()), "passage", keep=True), strict=True))


def encoder_of(store: Store, options: Options) -> TextEncoder:
    """The encoder that a collection's file names; without one, the encoder that ships."""
    told = store.info().encoder
    return load_encoder("encoder" if told is None or told.checksum else told.name, options)


def has_vectors_of(model: TextEncoder, store: Store) -> bool:
    """Whether a collection's vectors are of an encoder. Of those that others made a sample is encoded again, once.

    :raises InputError: if that gives other vectors.
    """
    info = store.info()
    if info.encoder is None or info.encoder.checksum:
        return info.encoder == named(model)
    others = cast(Any, store)
    if model.identity not in others.compared:
        _compare(model, others)
        others.compared.add(model.identity)
    return True


def _compare(model: TextEncoder, store: Any) -> None:
    """:raises InputError: if a sample of a collection's vectors is not what an encoder makes of its passages."""
    passages, vectors = zip(*store.sample(_SAMPLE), strict=True)
    ways = {"text": [one.text for one in passages], "title and text": [one.whole_text for one in passages]}
    made = {way: (model.encode(texts) * np.stack(vectors)).sum(axis=1) for way, texts in ways.items()}
    way = max(made, key=lambda name: float(np.median(made[name])))
    if (near := float(np.median(made[way]))) < _NEAR:
        raise InputError(
            f"collection {store.target}: its vectors are not of the encoder {model.name!r}. {len(passages)} passages, "
            f"encoded again ({way}), have a median cosine of {near:.2f} with the vectors in the index; wanted: "
            f"{_NEAR} or more. Name the encoder that made them, and the field that they are in."
        )


def forecast(model: TextEncoder, most: int, url: str) -> str:
    """The warning before up to so many passages of a collection are encoded; "" where it takes less than a minute."""
    info = open_store(url).info()
    missing = info.count - (info.vectors if has_vectors_of(model, open_store(url)) else 0)
    if min(most, missing) < _FEW:
        return ""
    start = time.perf_counter()
    model.encode([_TYPICAL] * 8)
    seconds = (time.perf_counter() - start) / 8
    if seconds * min(most, missing) < 60:
        return ""
    said = (
        f"{missing:,} of {info.count:,} passages have no vector of the encoder {model.name!r}, and up to "
        f"{min(most, missing):,} are encoded for this run: {_spoken(seconds * min(most, missing))} at "
        f"{1 / seconds:.0f} a second, less where they were encoded before."
    )
    if not {"vectors", "write"} <= info.capabilities or info.encoder not in {None, named(model)}:
        return said
    all_of_them = f"convqa index --collection {redact(url)} --vectors {model.name}"
    return f"{said} All once, in {_spoken(seconds * missing)}: {all_of_them}"


def _spoken(seconds: float) -> str:
    return f"{seconds / 3600:,.1f} hours" if seconds >= 5400 else f"{seconds / 60:.0f} minutes"


def named(model: TextEncoder) -> Encoder:
    """An encoder as stores know it."""
    return Encoder(model.name, model.family, model.dimension, model.sparse)


def fitted_for(model: TextEncoder, family: str = "") -> bool:
    """Whether what is made of cosines (a reader's curve, a decision) was fitted to this encoder's.

    Others' lie elsewhere: those of two texts that have nothing in common may be .7.

    :param family: of the encoder that it was fitted to; "" = the one that ships.
    """
    return model.family == (family or find_model("encoder").family)


def unknown_language(model: TextEncoder, info: Info, place: str) -> str:
    """The warning that an encoder does not know a collection's language, to be continued; "" where it knows it."""
    if model.knows(info.language):
        return ""
    known = ", ".join(model.languages)
    return f"{place} is in language {info.language!r}, which the encoder {model.name!r} ({known}) does not know"


def expanded(query: Query) -> str:
    """A query in words: its text, then its terms, whatever they weigh.

    >>> expanded(Query("Who wrote it?", (("Faust", 0.3), ("Weimar", 0.3))))
    'Who wrote it? Faust Weimar'
    """
    return " ".join([query.text.strip(), *(term for term, weight in query.terms if weight > 0)]).strip()


def unit(matrix: NDArray[Any]) -> Matrix:
    """Rows at length 1; a row of zeros stays."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    rows: Matrix = (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return rows
