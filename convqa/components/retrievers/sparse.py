"""Learned sparse retrieval with a model such as SPLADE, which weights the tokens of queries and passages."""

from __future__ import annotations

from convqa.components.encoding import QueryEncoder
from convqa.components.members import member
from convqa.components.retrievers.dense import Dense
from convqa.errors import InputError
from convqa.models import Options, TextEncoder, load_encoder
from convqa.stores.address import redact


@member
class Sparse(Dense):
    """Rank passages by the inner product of their token weights with those of the query.

    Like the retriever ``dense``, but passages without a weighted token of the query are not found. The collection must
    have token weights: ``convqa index --sparse MODEL``.

    Example::

        retriever: {type: sparse, init_parameters: {top_k: 100}}

    :param encoder: the model that made them: a folder or a Hugging Face name; None = the one that the collection names.
    """

    def __post_init__(self) -> None:
        self._queries = QueryEncoder(self._load, self.options)

    def _load(self, options: Options) -> TextEncoder:
        encoder = self.store.info().encoder
        if encoder is None or not encoder.sparse:
            raise InputError(
                f"collection {redact(str(self.collection))} has no token weights; make one with convqa index "
                "SOURCES --collection URL --sparse MODEL, or use another retriever."
            )
        return load_encoder(self.encoder or encoder.name, options, sparse=True)
