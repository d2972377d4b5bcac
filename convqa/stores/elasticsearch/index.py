"""Indexes on a server: create, clone, check and delete them, and switch the alias of a collection."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from elasticsearch import Elasticsearch

from convqa.errors import ConvqaError, InputError, RunError
from convqa.stores.elasticsearch.bulk import PATIENCE
from convqa.stores.elasticsearch.client import ask
from convqa.stores.elasticsearch.errors import IndexMissing, refused
from convqa.stores.elasticsearch.lock import CollectionLock
from convqa.stores.elasticsearch.schema import FORMAT, Meta, meta_of, vectors_of
from convqa.stores.elasticsearch.target import IndexTarget

_GRACE_SECONDS = 1.0
"""Time for searches of an old version to end."""
_LONGEST_SECONDS = 6 * 3600.0
"""Timeout of a merge or clone."""
_OWN = "*.aliases,*.mappings._meta,*.settings.index"


class ServerIndex:
    """An index by its own name, not an alias; by default a new version ``NAME-YYYYMMDDHHMMSS-xxxx``."""

    def __init__(self, target: IndexTarget, name: str = "") -> None:
        now = time.strftime("%Y%m%d%H%M%S", time.gmtime())
        self.target = target
        self.name = name or f"{target.index}-{now}-{secrets.token_hex(2)}"
        self._with_vectors = f"{self.name},{vectors_of(self.name)}"

    def create(self, settings: Mapping[str, Any], mappings: Mapping[str, Any]) -> None:
        ask(self.target, lambda es: es.indices.create(index=self.name, settings=settings, mappings=mappings))

    def clone(self, has_vectors: bool) -> ServerIndex:
        """Return a copy without an alias, with its vectors. It takes about a second, as files are hard-linked."""
        copy = ServerIndex(self.target)
        self.configure({"blocks.write": True})
        self._clone(self.name, copy.name)
        if has_vectors:
            self._clone(vectors_of(self.name), vectors_of(copy.name))
        return copy

    def _clone(self, source: str, name: str) -> None:
        settings = {"index.blocks.write": None, "index.number_of_replicas": 0}
        how: dict[str, Any] = {"settings": settings, "timeout": "10m"}
        self._ask_long(lambda es: es.indices.clone(index=source, target=name, **how))

    def delete(self) -> None:
        """Remove the index and its vectors."""
        ask(self.target, lambda es: es.indices.delete(index=self._with_vectors, ignore_unavailable=True))

    def discard(self) -> None:
        """Remove the index if the server answers. The next writer removes what stays."""
        with suppress(ConvqaError, RunError):
            self.delete()

    def write(self, meta: Meta) -> None:
        ask(self.target, lambda es: es.indices.put_mapping(index=self.name, meta=meta.to_json()))

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Change settings of the index and its vectors."""
        how: dict[str, Any] = {"index": self._with_vectors, "settings": settings, "ignore_unavailable": True}
        ask(self.target, lambda es: es.indices.put_settings(**how))

    def refresh(self) -> None:
        self._ask_long(lambda es: es.indices.refresh(index=self.name))

    def count(self, query: Mapping[str, Any] | None = None) -> int:
        return int(ask(self.target, lambda es: es.count(index=self.name, query=query))["count"])

    def merge(self) -> None:
        """Merge each shard into one segment without deleted documents. Searches fail meanwhile."""
        self._ask_long(lambda es: es.indices.forcemerge(index=self.name, max_num_segments=1))
        self.refresh()

    def _ask_long(self, call: Callable[[Elasticsearch], Any]) -> None:
        ask(self.target, lambda es: call(es.options(request_timeout=_LONGEST_SECONDS)), PATIENCE)


def indices_like(target: IndexTarget, pattern: str, path: str = _OWN) -> dict[str, Any]:
    """Return the server's records of the indexes that match a pattern, name or alias, by name."""
    how: dict[str, Any] = {"expand_wildcards": ["open", "closed"], "filter_path": f"{path},error,status"}
    answer = ask(target, lambda es: es.options(ignore_status=404).indices.get(index=pattern, **how))
    if answer.meta.status == 404:
        error = refused(404, answer.body, target)
        if not isinstance(error, IndexMissing):
            raise error
        return {}
    return dict(answer.body)


def look_up(target: IndexTarget, path: str = _OWN) -> tuple[str, Mapping[str, Any]] | None:
    """Return the name and record of the index that a name or alias refers to, or None."""
    indices = indices_like(target, target.index, path)
    if len(indices) > 1:
        names = ", ".join(sorted(indices)[:5])
        raise InputError(f"collection {target} is an alias of {len(indices)} indexes ({names}); expected one.")
    return next(iter(indices.items()), None)


def put_in_place(index: ServerIndex, old: ServerIndex | None, replicas: int, lock: CollectionLock) -> None:
    """Switch a collection's alias to a version in one call, and then remove the old one."""
    target = index.target
    if replicas:
        index.configure({"number_of_replicas": replicas})
    actions: list[dict[str, Any]] = [{"add": {"index": index.name, "alias": target.index}}]
    if old is not None:
        # Without must_exist the server adds the alias even if the old version has lost it.
        actions.append({"remove": {"index": old.name, "alias": target.index, "must_exist": True}})
    lock.check()
    ask(target, lambda es: es.indices.update_aliases(actions=actions))
    if old is not None:
        time.sleep(_GRACE_SECONDS)
        old.discard()


def unfinished(target: IndexTarget) -> list[ServerIndex]:
    """Return the versions of a collection without an alias, which killed writers left.

    Only the holder of the lock may use them.
    """
    return [
        ServerIndex(target, name)
        for name, index in indices_like(target, f"{target.index}-*").items()
        if is_version(name, target.index) and is_own(index) and not index.get("aliases")
    ]


def is_version(name: str, alias: str) -> bool:
    return re.fullmatch(re.escape(alias) + r"-\d{14}-[0-9a-f]{4}", name) is not None


def is_own(index: Mapping[str, Any]) -> bool:
    return meta_of(index).get("format") == FORMAT
