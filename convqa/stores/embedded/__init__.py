"""The embedded engine: a collection is a folder, and nothing has to be started."""

from __future__ import annotations

from convqa.stores.embedded.store import Embedded as open_collection
from convqa.stores.embedded.store import create, identity, is_collection

__all__ = ["create", "identity", "is_collection", "open_collection"]
