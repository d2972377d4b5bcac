"""Lucene indexes that Anserini made, as shared tasks hand them out: read only."""

from __future__ import annotations

from convqa.stores.anserini.engine import change, create, delete, find, identity, key, open_collection
from convqa.stores.anserini.index import is_index

__all__ = ["change", "create", "delete", "find", "identity", "is_index", "key", "open_collection"]
