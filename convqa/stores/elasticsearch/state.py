"""What an index says about its passages and their vectors, and whether what is seen there is what it says."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from convqa.errors import InputError, RunError, StoreDamaged, StoreUnavailable
from convqa.stores.elasticsearch.connect import Target, asking, client
from convqa.stores.elasticsearch.errors import refused
from convqa.stores.elasticsearch.lease import is_written
from convqa.stores.elasticsearch.msearch import Searches
from convqa.stores.elasticsearch.schema import Record, VectorRecord, vectors_of

PATIENCE = 10.0
"""Seconds for which a commit of another process, which is seen before it is recorded, is waited for at opening."""

_POLL = 0.25
_SAID = "*.mappings._meta,*.settings.index.similarity.default"
_MISSING = {"error": {"type": "index_not_found_exception"}}


@dataclass(frozen=True, slots=True)
class State:
    """What an index says. ``k1`` and ``b`` are those that the server scores with, which its settings tell."""

    record: Record
    vectors: VectorRecord | None
    k1: float
    b: float

    @classmethod
    def read(cls, target: Target, name: str) -> State:
        """One small request.

        :raises InputError: if convqa did not make the index, or a later version did, or it is not whole yet.
        :raises IndexMissing: if it is gone.
        """
        beside = vectors_of(name)
        found: Mapping[str, Any] = asking(
            target,
            lambda: client(target).indices.get(
                index=[name, beside], features=["mappings", "settings"], ignore_unavailable=True, filter_path=_SAID
            ),
        ).body
        if name not in found:
            raise refused(404, _MISSING, target)
        record = Record.of(_meta(found[name]), name)
        if not record.ready:
            raise InputError(
                f"index {name} at {target.http} is not whole: it is being built, or its building was cut off. Run the "
                "same convqa index again, which goes on with it."
            )
        vectors = VectorRecord.of(_meta(found[beside]), beside) if beside in found else None
        return cls(record, vectors, *similarity(found[name]))

    @property
    def mark(self) -> tuple[int, int, str, float, float]:
        """What changes with every commit, and with the settings that shape scores."""
        return self.record.batches, self.record.count, self.record.checksum, self.k1, self.b


def similarity(index: Mapping[str, Any]) -> tuple[float, float]:
    """k1 and b in the settings of an index that convqa made."""
    found = index["settings"]["index"]["similarity"]["default"]
    return float(found["k1"]), float(found["b"])


def opened(target: Target, name: str) -> State:
    """The state of an index when it is opened.

    Of one whose change was cut off it is the last that was recorded: :func:`look` says so to those who read.

    :raises StoreUnavailable: while another process commits.
    :raises StoreDamaged: for one that has other passages than it says, though nobody is changing it.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        state = State.read(target, name)
        seen, late = _seen(target, name, state)
        if not state.record.shown and (seen, late) == (state.record.count, 0):
            return state
        if State.read(target, name) == state:
            if not state.record.writing:
                raise _damage(target, state, seen)
            if time.monotonic() > deadline:
                if is_written(target):
                    raise _busy(target)
                return state
        time.sleep(_POLL)


def look(target: Target, name: str, known: State, vectors: bool = False) -> None:
    """Raise unless an index is still what it was when it was opened. Asked after each reading, which it vouches for.

    :param vectors: whether vectors were searched, too.
    :raises RunError: if something was committed since, or its settings changed.
    :raises StoreUnavailable: while another process commits, or mends.
    :raises StoreDamaged: if a change was cut off, of which a part is seen.
    """
    while True:
        now = State.read(target, name)
        if now.mark != known.mark or (vectors and now.vectors != known.vectors):
            raise RunError(
                f"collection {target} changed since it was opened: passages, vectors or settings are others now. "
                "Start again: one run must not mix two collections."
            )
        if not now.record.writing or _is_settled(target, name, now, vectors):
            return
        if is_written(target):
            raise _busy(target)
        if State.read(target, name) == now and not _is_settled(target, name, now, vectors):
            raise _damage(target, now, _seen(target, name, now)[0])


def _is_settled(target: Target, name: str, state: State, vectors: bool) -> bool:
    if state.record.shown or _seen(target, name, state) != (state.record.count, 0):
        return False
    return not vectors or state.vectors is None or _seen(target, vectors_of(name), state) == (state.vectors.count, 0)


def _seen(target: Target, index: str, state: State) -> tuple[int, int]:
    """How many documents searches see, and how many of them are not committed."""
    asked = {"size": 0, "track_total_hits": True}
    late = {"range": {"batch": {"gte": state.record.batches}}}
    bodies = [orjson.dumps(asked), orjson.dumps({**asked, "query": late})]
    seen, uncommitted = Searches(target, index).ask(bodies, ["hits.total.value"])
    return seen["hits"]["total"]["value"], uncommitted["hits"]["total"]["value"]


def _busy(target: Target) -> StoreUnavailable:
    return StoreUnavailable(f"collection {target} is being written by another process; try again later.")


def _damage(target: Target, state: State, seen: int) -> StoreDamaged:
    count = state.record.count
    found = "its scores may count what was removed" if seen == count else f"{seen} are there"
    return StoreDamaged(
        f"collection {target} says that it has {count} passages, and {found}: a change was cut off. Repeat the same "
        "convqa index --add, which mends it, or build it anew with --replace."
    )


def _meta(index: Mapping[str, Any]) -> Mapping[str, Any]:
    return index.get("mappings", {}).get("_meta") or {}
