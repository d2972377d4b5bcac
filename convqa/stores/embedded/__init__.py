"""The embedded engine: a collection is a folder, and nothing has to be started."""

from __future__ import annotations

from convqa.stores.embedded.engine import change, create, delete, find, identity, is_collection, key, open_collection

__all__ = ["change", "create", "delete", "find", "identity", "is_collection", "key", "open_collection"]
