"""Passages out of an index, by their ids."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from convqa.stores.elasticsearch.bulk import Item, Sender, slices
from convqa.stores.elasticsearch.index import Index
from convqa.stores.elasticsearch.loading import LOOKED_UP
from convqa.stores.elasticsearch.schema import document_id

logger = logging.getLogger(__name__)


def delete(
    index: Index, sender: Sender, ids: Sequence[str], remember: Callable[[Mapping[str, Any]], None]
) -> list[str]:
    """Delete passages; ids that are not there are counted in one warning. Returns the ``_id`` of those that were.

    :param remember: told of each document before it goes.
    """
    deleted: list[str] = []
    for piece in slices(ids, LOOKED_UP):
        known = {document_id(id): id for id in piece if _can_be_encoded(id)}
        found = index.documents(list(known), ("batch", "place", "passage"))
        there = {key: source for key, source in zip(known, found, strict=True) if source is not None}
        for source in there.values():
            remember(source)
        sender.send("delete", [Item(key, known[key]) for key in there])
        deleted += there
    missing = len(ids) - len(deleted)
    if missing:
        logger.warning("%d of %d passages to delete are not in collection %s", missing, len(ids), index.target)
    return deleted


def _can_be_encoded(id: str) -> bool:
    try:
        id.encode()
    except UnicodeEncodeError:
        return False
    return True
