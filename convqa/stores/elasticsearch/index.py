"""One concrete index on a server, as those who write to it see it; and which index a name means."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from elasticsearch import Elasticsearch

from convqa.errors import InputError, WorkError
from convqa.stores.content import checksum
from convqa.stores.elasticsearch.bulk import PATIENCE
from convqa.stores.elasticsearch.client import ask, client
from convqa.stores.elasticsearch.errors import IndexMissing, refused
from convqa.stores.elasticsearch.schema import PARTS, Meta, total
from convqa.stores.elasticsearch.target import Target

T = TypeVar("T")

_QUIET = 1.0
_LONGEST = 6 * 3600.0
_OWN = "*.aliases,*.mappings._meta,*.settings.index"


class Index:
    """An index by its own name, never an alias.

    :raises InputError, StoreUnavailable, WorkError: from any method, see :func:`ask`.
    """

    def __init__(self, target: Target, name: str) -> None:
        self.target, self.name = target, name

    def create(self, settings: Mapping[str, Any], mappings: Mapping[str, Any]) -> None:
        self._ask(lambda known: known.indices.create(index=self.name, settings=settings, mappings=mappings))

    def clone(self, name: str, settings: Mapping[str, Any] | None = None) -> Index:
        """A copy of the index under another name: hard links to its files, within a second or so."""
        self.configure({"blocks.write": True})
        wanted = {"index.blocks.write": None, "index.number_of_replicas": 0, **(settings or {})}
        self._ask(lambda known: known.indices.clone(index=self.name, target=name, settings=wanted, timeout="10m"), True)
        return Index(self.target, name)

    def delete(self) -> None:
        self._ask(lambda known: known.indices.delete(index=self.name, ignore_unavailable=True))

    def write(self, meta: Meta) -> None:
        """Replace what the index says about itself."""
        self._ask(lambda known: known.indices.put_mapping(index=self.name, meta=meta.to_json()))

    def configure(self, settings: Mapping[str, Any]) -> None:
        self._ask(lambda known: known.indices.put_settings(index=self.name, settings=settings))

    def refresh(self) -> None:
        self._ask(lambda known: known.indices.refresh(index=self.name), True)

    def count(self) -> int:
        """Visible documents."""
        return int(self._ask(lambda known: known.count(index=self.name))["count"])

    def totals(self) -> tuple[int, int]:
        """How many passages are visible, and the sum of their digests."""
        sums = {part: {"sum": {"field": part}} for part in PARTS}
        how: dict[str, Any] = {"size": 0, "track_total_hits": True, "allow_partial_search_results": False}
        answer = self._ask(lambda known: known.search(index=self.name, aggs=sums, **how), True)
        found = {part: answer["aggregations"][part]["value"] for part in PARTS}
        return int(answer["hits"]["total"]["value"]), total(found)

    def check_totals(self, count: int, sum: int) -> str:
        """The checksum of a refreshed index, which has just the passages that were sent.

        :raises WorkError: with both counts, if it has not.
        """
        found, digests = self.totals()
        if (found, checksum(digests)) != (count, checksum(sum)):
            raise WorkError(
                f"collection {self.target}: {count} passages with checksum {checksum(sum)} were sent, and "
                f"Elasticsearch has {found} with {checksum(digests)}. Did something else write to {self.name}? Run the "
                "command again."
            )
        return checksum(sum)

    def remove_after(self, place: int) -> None:
        """Remove the documents after a place."""
        self.refresh()
        query = {"range": {"place": {"gt": place}}}
        how: dict[str, Any] = {"conflicts": "proceed", "refresh": True}
        self._ask(lambda known: known.delete_by_query(index=self.name, query=query, **how), True)

    def quiet(self) -> None:
        """Let requests of a writer that is gone end: those that are at work are waited for, later ones refused."""
        self._ask(lambda known: known.indices.add_block(index=self.name, block="write"))
        time.sleep(_QUIET)
        self.configure({"blocks.write": None})

    def merge(self) -> None:
        """Put each shard into one segment, without what was deleted. Searches fail meanwhile."""
        self._ask(lambda known: known.indices.forcemerge(index=self.name, max_num_segments=1), True)
        self.refresh()

    def _ask(self, call: Callable[[Elasticsearch], T], is_long: bool = False) -> T:
        if is_long:
            return ask(self.target, lambda known: call(known.options(request_timeout=_LONGEST)), PATIENCE, waits=True)
        return ask(self.target, call)


def indices_like(target: Target, pattern: str, path: str = _OWN) -> dict[str, Any]:
    """What the server says of the indexes that a pattern, name or alias means; nothing where there are none."""
    answer = client(target).options(ignore_status=404)
    found = ask(
        target,
        lambda _: answer.indices.get(
            index=pattern, expand_wildcards=["open", "closed"], filter_path=f"{path},error,status"
        ),
    )
    if found.meta.status == 404:
        error = refused(404, found.body, target)
        if not isinstance(error, IndexMissing):
            raise error
        return {}
    return dict(found.body)


def look_up(target: Target, path: str = _OWN) -> tuple[str, Mapping[str, Any]] | None:
    """The index that a collection's name or alias means, by its own name; None where there is nothing.

    :raises InputError: for an alias of several.
    """
    found = indices_like(target, target.index, path)
    if len(found) > 1:
        raise InputError(
            f"collection {target} is an alias of {len(found)} indexes ({', '.join(sorted(found)[:5])}); wanted: one."
        )
    return next(iter(found.items()), None)
