"""Build collections from files, and find the collection of a run."""

from __future__ import annotations

from convqa.indexing.find import collection_for, collection_of, collection_of_passages
from convqa.indexing.passages import read_passages
from convqa.indexing.update import Indexed, index_sources, update_documents
from convqa.indexing.vectors import add_vectors, default_encoder, store_for_vectors

__all__ = [
    "Indexed",
    "add_vectors",
    "collection_for",
    "collection_of",
    "collection_of_passages",
    "default_encoder",
    "index_sources",
    "read_passages",
    "store_for_vectors",
    "update_documents",
]
