"""The tantivy index of a collection, which finds candidates with tantivy's fixed k1 = 1.2 and b = .75.

Fields of a document: ``n`` (the passage's number), ``tokens`` (of title and text, joined by spaces), ``title`` (the
title's tokens) and ``meta`` (a digest of each name and value, for filters). Deleted passages stay; readers skip them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import tantivy
from tantivy import Occur, Query

from convqa.domain import MetaValue
from convqa.errors import InputError
from convqa.stores.base import Integers
from convqa.stores.content import meta_term

Groups = Sequence[Sequence[str]]
"""A filter as groups of terms (:func:`meta_terms`)."""

FOLDER = "tantivy"
_HEAP_BYTES = 128 * 1024 * 1024


def create(data: Path) -> None:
    """Create an empty index in a data folder."""
    path = data / FOLDER
    path.mkdir()
    builder = tantivy.SchemaBuilder()
    # Not an unsigned field, on which tantivy-py's Document(n=3) kills the writer's thread.
    builder.add_integer_field("n", stored=False, indexed=True, fast=True)
    builder.add_text_field("tokens", stored=False, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("title", stored=False, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("meta", stored=False, tokenizer_name="raw", index_option="basic")
    tantivy.Index(builder.build(), path=_utf8(path))


def _utf8(path: Path) -> str:
    """:raises InputError: for a path that is not UTF-8, which tantivy does not accept."""
    try:
        return str(path).encode().decode()
    except UnicodeEncodeError:
        raise InputError(
            f"collection {path.parent.parent}: a collection's path must be UTF-8. Rename or move it."
        ) from None


def _open(path: Path) -> tantivy.Index:
    index = tantivy.Index.open(_utf8(path))
    # Tokenizers are not stored with an index.
    index.register_tokenizer("whitespace", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    return index


@contextmanager
def _lockable(path: Path) -> Iterator[Path]:
    """Yield a writable folder with the same files, because tantivy creates a lock to open a reader."""
    if os.access(path, os.W_OK):
        yield path
        return
    # A tantivy thread may still write there when the folder is removed.
    with tempfile.TemporaryDirectory(prefix="convqa-", ignore_cleanup_errors=True) as links:
        for file in path.resolve().iterdir():
            if file.suffix != ".lock":
                (Path(links) / file.name).symlink_to(file)
        yield Path(links)


class CandidateIndex:
    """Reader of one state of the index, which later commits do not change."""

    def __init__(self, data: Path) -> None:
        with _lockable(data / FOLDER) as readable:
            index = _open(readable)
            self._schema = index.schema
            self._searcher = index.searcher()

    def best(self, query: Query, limit: int) -> tuple[Integers, Sequence[float]]:
        """Return the numbers and tantivy's scores of the best ``limit`` passages, best first."""
        hits = self._searcher.search(query, limit=limit, count=False).hits
        numbers = self._searcher.fast_field_values("n", [address for _, address in hits])
        return np.array(numbers, np.int64), [score for score, _ in hits]

    def accepted(self, filter: Groups) -> Integers:
        """Return the numbers of all passages that a filter accepts."""
        numbers, _ = self.best(self.query({}, None, filter), max(1, self._searcher.num_docs))
        return numbers

    def query(
        self,
        weights: Mapping[str, float],
        title_weight: float | None,
        filter: Groups,
    ) -> Query:
        """Return a query for any of the weighted tokens, if there are any, within a filter."""
        clauses = []
        for token, weight in weights.items():
            clauses.append(self._should("tokens", token, weight))
            if title_weight:
                clauses.append(self._should("title", token, weight * title_weight))
        any_token = Query.boolean_query(clauses)
        if not filter:
            return any_token
        required = [(Occur.Must, any_token)] if weights else []
        for terms in filter:
            any_of = Query.boolean_query([self._should("meta", term) for term in terms])
            required.append((Occur.Must, Query.const_score_query(any_of, 0.0)))
        return Query.boolean_query(required)

    def _should(
        self,
        field: str,
        token: str,
        weight: float = 1.0,
    ) -> tuple[Occur, Query]:
        term = Query.term_query(self._schema, field, token, "freq")
        return Occur.Should, Query.boost_query(term, weight)


class IndexWriter:
    """Writer of the index. It has one thread, so that builds are reproducible.

    :param numbers: the passages that are committed. Those beyond are of a killed writer, and removed.
    """

    def __init__(self, data: Path, numbers: int) -> None:
        self._path = data / FOLDER
        index = _open(self._path)
        self._writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
        beyond = Query.range_query(index.schema, "n", tantivy.FieldType.Integer, numbers, None)
        self._writer.delete_documents_by_query(beyond)

    def add(
        self,
        number: int,
        text: Sequence[str],
        title: Sequence[str],
        meta: Mapping[str, MetaValue],
    ) -> None:
        document = tantivy.Document(n=number, tokens=" ".join((*title, *text)))
        if title:
            document.add_text("title", " ".join(title))
        for name, value in meta.items():
            document.add_text("meta", meta_term(name, value))
        self._writer.add_document(document)

    def commit(self) -> None:
        self._writer.commit()

    def close(self) -> None:
        """Drop uncommitted changes and stop."""
        self._writer.rollback()
        self._writer.wait_merging_threads()
        # tantivy makes these two readable for their owner only.
        mode = self._path.stat().st_mode & 0o666
        for name in ("meta.json", ".managed.json"):
            (self._path / name).chmod(mode)
