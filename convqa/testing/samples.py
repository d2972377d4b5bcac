"""The passages of the collections under test, and how tests open and search them."""

from __future__ import annotations

from typing import Any

import pytest

from convqa.domain import Passage, Query
from convqa.stores import open_store
from convqa.stores.base import SearchParams, Store

DEFAULT = SearchParams()

WEIRD_ID = "http://a.b/c?d=%20,é:/" + "x" * 1378
PASSAGES = [
    Passage("p1", "The river Thames flows through London.", "Thames", "http://x/1", {"year": 2001, "kind": "river"}),
    Passage("p2", "Rome was not built in a day.", "Rome", "", {"year": 2002, "kind": "city", "old": True}),
    Passage("p3", "Bridges of London cross the river.", "", "", {"year": 2001, "kind": "bridge", "old": False}),
    Passage("p4", "Bridges of London cross the river.", "", "", {"year": 2003.0, "kind": "bridge"}),
    Passage(WEIRD_ID, "Ein Käse 😀 von weit her: 東京 \x00 und zurück.", "Käse", "", {"kind": "cheese"}),
    Passage("stop", "to be or not to be", "The"),
]
"""What the collections under test hold."""


def needs(store: Store, capability: str) -> None:
    """Skip the test of a store that does not declare the capability."""
    if capability not in store.info().capabilities:
        pytest.skip(f"this engine does not declare the capability {capability!r}")


def reopen(url: str) -> Any:
    """Open the store at a URL, which the caller expects to be writable."""
    return open_store(url)


def ids(
    store: Store,
    text: str,
    k: int = 10,
    params: SearchParams = DEFAULT,
) -> list[str]:
    return [hit.id for hit in store.search([Query(text)], k, params)[0].hits]
