"""The engine for a server: a collection is an index of Elasticsearch behind an alias, ``elasticsearch://HOST/NAME``."""

from __future__ import annotations

from convqa.stores.elasticsearch.opening import identity, key, open_collection
from convqa.stores.elasticsearch.place import change, create, delete, find

__all__ = ["change", "create", "delete", "find", "identity", "key", "open_collection"]
