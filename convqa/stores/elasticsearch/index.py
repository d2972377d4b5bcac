"""Indexes on a server: create, clone, check and delete them, and switch the alias of a collection."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from elasticsearch import Elasticsearch

from convqa.errors import ConvqaError, InputError, RunError, WorkError
from convqa.stores.elasticsearch.bulk import PATIENCE
from convqa.stores.elasticsearch.client import ask
from convqa.stores.elasticsearch.errors import IndexMissing, refused
from convqa.stores.elasticsearch.lock import Lock
from convqa.stores.elasticsearch.schema import FORMAT, Meta, meta_of, vectors_of
from convqa.stores.elasticsearch.target import Target

_GRACE = 1.0
"""Seconds for searches of an old version to end."""
_LONGEST = 6 * 3600.0
_OWN = "*.aliases,*.mappings._meta,*.settings.index"


class Index:
    """An index by its own name, not an alias; by default a new version ``NAME-YYYYMMDDHHMMSS-xxxx``."""

    def __init__(self, target: Target, name: str = "") -> None:
        now = time.strftime("%Y%m%d%H%M%S", time.gmtime())
        self.target, self.name = target, name or f"{target.index}-{now}-{secrets.token_hex(2)}"
        self._both = f"{self.name},{vectors_of(self.name)}"

    def create(self, settings: Mapping[str, Any], mappings: Mapping[str, Any]) -> None:
        self._ask(lambda es: es.indices.create(index=self.name, settings=settings, mappings=mappings))

    def clone(self, has_vectors: bool) -> Index:
        """Return a copy without an alias, with its vectors. It takes about a second, as files are hard-linked."""
        copy = Index(self.target)
        self.configure({"blocks.write": True})
        self._clone(self.name, copy.name)
        if has_vectors:
            self._clone(vectors_of(self.name), vectors_of(copy.name))
        return copy

    def _clone(self, source: str, name: str) -> None:
        settings = {"index.blocks.write": None, "index.number_of_replicas": 0}
        how: dict[str, Any] = {"settings": settings, "timeout": "10m"}
        self._ask(lambda es: es.indices.clone(index=source, target=name, **how), is_long=True)

    def delete(self) -> None:
        """Remove the index and its vectors."""
        self._ask(lambda es: es.indices.delete(index=self._both, ignore_unavailable=True))

    def write(self, meta: Meta) -> None:
        self._ask(lambda es: es.indices.put_mapping(index=self.name, meta=meta.to_json()))

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Change settings of the index and its vectors."""
        how: dict[str, Any] = {"settings": settings, "ignore_unavailable": True}
        self._ask(lambda es: es.indices.put_settings(index=self._both, **how))

    def refresh(self) -> None:
        self._ask(lambda es: es.indices.refresh(index=self.name), True)

    def count(self, query: Mapping[str, Any] | None = None) -> int:
        return int(self._ask(lambda es: es.count(index=self.name, query=query))["count"])

    def check_count(self, count: int) -> None:
        """Raise a ``WorkError`` unless the refreshed index has as many passages as were sent."""
        visible = self.count()
        if visible != count:
            raise WorkError(
                f"collection {self.target}: {count} passages were sent, and Elasticsearch has {visible}. Did something "
                f"else write to {self.name}? Run the command again."
            )

    def remove_after(self, place: int) -> None:
        self.refresh()
        query = {"range": {"place": {"gt": place}}}
        how: dict[str, Any] = {"conflicts": "proceed", "refresh": True}
        self._ask(lambda es: es.delete_by_query(index=self.name, query=query, **how), True)

    def merge(self) -> None:
        """Merge each shard into one segment without deleted documents. Searches fail meanwhile."""
        self._ask(lambda es: es.indices.forcemerge(index=self.name, max_num_segments=1), True)
        self.refresh()

    def _ask(self, call: Callable[[Elasticsearch], Any], is_long: bool = False) -> Any:
        if is_long:
            return ask(self.target, lambda es: call(es.options(request_timeout=_LONGEST)), PATIENCE, waits=True)
        return ask(self.target, call)


def indices_like(target: Target, pattern: str, path: str = _OWN) -> dict[str, Any]:
    """Return the server's records of the indexes that match a pattern, name or alias, by name."""
    how: dict[str, Any] = {"expand_wildcards": ["open", "closed"], "filter_path": f"{path},error,status"}
    answer = ask(target, lambda es: es.options(ignore_status=404).indices.get(index=pattern, **how))
    if answer.meta.status == 404:
        error = refused(404, answer.body, target)
        if not isinstance(error, IndexMissing):
            raise error
        return {}
    return dict(answer.body)


def look_up(target: Target, path: str = _OWN) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name and record of the index that a name or alias refers to, or None."""
    indices = indices_like(target, target.index, path)
    if len(indices) > 1:
        names = ", ".join(sorted(indices)[:5])
        raise InputError(f"collection {target} is an alias of {len(indices)} indexes ({names}); expected one.")
    return next(iter(indices.items()), None)


def put(index: Index, old: Index | None, replicas: int, lock: Lock) -> None:
    """Switch a collection's alias to a version in one call, and then remove the old one."""
    target = index.target
    if replicas:
        index.configure({"number_of_replicas": replicas})
    actions: list[dict[str, Any]] = [{"add": {"index": index.name, "alias": target.index}}]
    if old is not None:
        # Without must_exist the server adds the alias even if the old version has lost it.
        actions.append({"remove": {"index": old.name, "alias": target.index, "must_exist": True}})
    lock.check()
    try:
        ask(target, lambda es: es.indices.update_aliases(actions=actions))
    except IndexMissing as error:
        raise WorkError(f"collection {target} was taken over by another process: nothing was changed.") from error
    if old is not None:
        time.sleep(_GRACE)
        # The next writer removes what stays.
        with suppress(ConvqaError, RunError):
            old.delete()


def unfinished(target: Target) -> dict[str, Mapping[str, Any]]:
    """Return the versions of a collection without an alias, newest first. Only the holder of the lock uses them."""
    indices = indices_like(target, f"{target.index}-*")
    return {
        name: indices[name]
        for name in sorted(indices, reverse=True)
        if is_version(name, target.index) and is_own(indices[name]) and not indices[name].get("aliases")
    }


def sweep(target: Target) -> None:
    """Remove versions that killed changes left. An interrupted load stays, for the next one to resume."""
    for name, index in unfinished(target).items():
        if meta_of(index).get("ready"):
            Index(target, name).delete()


def is_version(name: str, alias: str) -> bool:
    return re.fullmatch(re.escape(alias) + r"-\d{14}-[0-9a-f]{4}", name) is not None


def is_own(index: Mapping[str, Any]) -> bool:
    return meta_of(index).get("format") == FORMAT
