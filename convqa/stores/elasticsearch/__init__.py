"""The engine for a server: a collection is an index of Elasticsearch behind an alias, ``elasticsearch://HOST/NAME``."""

from __future__ import annotations

from convqa.stores.elasticsearch.engine import change, create, delete, find, identity, key, open_collection, take_over

__all__ = ["change", "create", "delete", "find", "identity", "key", "open_collection", "take_over"]
