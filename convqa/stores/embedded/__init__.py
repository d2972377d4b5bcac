"""The embedded engine: a collection is a folder, and nothing has to be started."""

from __future__ import annotations

from convqa.stores.embedded.place import create, identity, is_collection, key, open_collection

__all__ = ["create", "identity", "is_collection", "key", "open_collection"]
