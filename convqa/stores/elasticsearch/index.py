"""One concrete index on a server, as those who write to it see it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from elastic_transport import TransportError
from elasticsearch import ApiError

from convqa.errors import WorkError
from convqa.stores.elasticsearch.bulk import passes
from convqa.stores.elasticsearch.connect import Target, asking, client
from convqa.stores.elasticsearch.errors import translated
from convqa.stores.elasticsearch.schema import PARTS, Record, VectorRecord, total

logger = logging.getLogger(__name__)

T = TypeVar("T")

EXPUNGED = 90.0
"""Seconds that deleted documents may take to go. (The server keeps them for copies of a shard that may come back, and
looks every 30 seconds whether it still has to.)"""

_QUIET = 1.0
_LONG = 600.0
_LONGEST = 6 * 3600.0


class Index:
    """An index by its own name, never an alias.

    :raises InputError, StoreUnavailable, WorkError: from any method, as ``talking`` says.
    """

    def __init__(self, target: Target, name: str) -> None:
        self.target, self.name = target, name
        self.client = client(target)

    def exists(self) -> bool:
        return bool(asking(self.target, lambda: self.client.indices.exists(index=self.name)))

    def create(self, settings: Mapping[str, Any], mappings: Mapping[str, Any]) -> None:
        asking(self.target, lambda: self.client.indices.create(index=self.name, settings=settings, mappings=mappings))

    def delete(self) -> None:
        asking(self.target, lambda: self.client.indices.delete(index=self.name, ignore_unavailable=True))

    def meta(self) -> dict[str, Any]:
        """What the index says about itself; empty for one that says nothing."""
        answer = asking(self.target, lambda: self.client.indices.get_mapping(index=self.name))
        found: dict[str, Any] = answer.body[self.name]["mappings"].get("_meta") or {}
        return found

    def write(self, record: Record | VectorRecord) -> None:
        """Replace what the index says about itself."""
        asking(self.target, lambda: self.client.indices.put_mapping(index=self.name, meta=record.to_json()))

    def configure(self, settings: Mapping[str, Any]) -> None:
        asking(self.target, lambda: self.client.indices.put_settings(index=self.name, settings=settings))

    def refresh(self) -> None:
        self._patiently(lambda: self.client.options(request_timeout=_LONG).indices.refresh(index=self.name))

    def count(self) -> int:
        """Visible documents."""
        return int(asking(self.target, lambda: self.client.count(index=self.name))["count"])

    def totals(self) -> tuple[int, int]:
        """How many passages are visible, and the sum of their digests."""
        sums = {part: {"sum": {"field": part}} for part in PARTS}
        quiet = self.client.options(request_timeout=_LONG)
        answer = asking(
            self.target,
            lambda: quiet.search(
                index=self.name, size=0, track_total_hits=True, aggs=sums, allow_partial_search_results=False
            ),
        )
        found = {part: answer["aggregations"][part]["value"] for part in PARTS}
        return int(answer["hits"]["total"]["value"]), total(found)

    def documents(
        self, keys: Sequence[str], fields: Sequence[str] = (), realtime: bool = True
    ) -> list[Mapping[str, Any] | None]:
        """The named fields of documents by ``_id``, None for one that is not there.

        :param realtime: count in what no search sees yet.
        """
        if not keys:
            return []
        answer = asking(
            self.target,
            lambda: self.client.mget(
                index=self.name,
                ids=list(keys),
                source=list(fields) or False,
                realtime=realtime,
                filter_path="docs.found,docs._source,docs.error",
            ),
        )
        found: list[Mapping[str, Any] | None] = []
        for document in answer.body["docs"]:
            if "error" in document:
                raise WorkError(f"index {self.name} at {self.target.http}: {document['error'].get('reason')}")
            found.append(document.get("_source", {}) if document["found"] else None)
        return found

    def remove_from(self, batch: int) -> int:
        """Remove the documents of this batch and later ones; returns how many. They are seen for a moment."""
        self.refresh()
        answer = self._patiently(
            lambda: self.client.options(request_timeout=_LONG).delete_by_query(
                index=self.name, query={"range": {"batch": {"gte": batch}}}, conflicts="proceed", refresh=True
            )
        )
        return int(answer["deleted"])

    def quiet(self) -> None:
        """Let requests of a writer that is gone end: those that are at work are waited for, later ones refused."""
        asking(self.target, lambda: self.client.indices.add_block(index=self.name, block="write"))
        time.sleep(_QUIET)
        self.configure({"blocks.write": None})

    def merge(self) -> None:
        """Put each shard into one segment, and let go of what was deleted. Searches fail meanwhile."""
        if self._deleted():
            # Opened anew, the server no longer keeps what was deleted for copies of a shard that may come back.
            self._reopen({})
        self._merge(max_num_segments=1)
        self.refresh()
        self.expunge()

    def reopen(self, settings: Mapping[str, Any]) -> None:
        """Close the index, change settings that need it, and open it. Searches fail meanwhile."""
        self._reopen(settings)
        # What a change that was dropped had added is counted in scores from now on.
        self.expunge()

    def _reopen(self, settings: Mapping[str, Any]) -> None:
        asking(self.target, lambda: self.client.indices.close(index=self.name))
        try:
            if settings:
                self.configure(settings)
        finally:
            asking(self.target, lambda: self.client.indices.open(index=self.name))

    def expunge(self) -> None:
        """Let go of deleted documents, which until then count in df, lengths and so in scores."""
        deadline = time.monotonic() + EXPUNGED
        while self._deleted():
            self._merge(only_expunge_deletes=True)
            self.refresh()
            if not self._deleted():
                return
            if time.monotonic() > deadline:
                logger.warning(
                    "%s: Elasticsearch still keeps deleted passages: scores count them until it lets them go",
                    self.target,
                )
                return
            time.sleep(1)

    def _deleted(self) -> int:
        answer = asking(self.target, lambda: self.client.indices.stats(index=self.name, metric="docs"))
        return int(answer["_all"]["primaries"]["docs"]["deleted"])

    def _merge(self, **how: Any) -> None:
        patient = self.client.options(request_timeout=_LONG)
        self._patiently(lambda: patient.indices.forcemerge(index=self.name, **how))

    def _patiently(self, call: Callable[[], T]) -> T:
        """A call that may take hours: again when no answer came, as the server goes on with it meanwhile."""
        deadline = time.monotonic() + _LONGEST
        while True:
            start = time.monotonic()
            try:
                return call()
            except (TransportError, ApiError) as error:
                lasted = time.monotonic() - start
                if not passes(error) or lasted < 5 or time.monotonic() > deadline:
                    raise translated(error, self.target) from None


def indices_like(target: Target, pattern: str) -> dict[str, dict[str, Any]]:
    """Aliases, settings and what they say of themselves, of the indexes that a pattern, name or alias means."""
    known = client(target)
    answer = asking(
        target,
        lambda: known.options(ignore_status=404).indices.get(
            index=pattern,
            features=["aliases", "mappings", "settings"],
            expand_wildcards=["open", "closed"],
            filter_path="*.aliases,*.mappings._meta,*.settings.index.number_of_shards,error",
        ),
    )
    return {} if answer.meta.status == 404 else dict(answer.body)
