"""Recorded rankings and rewrites of other systems, read from their files by turn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import FiniteFloat

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import parse_json, read_bytes
from convqa.metrics.trec import encoded, read_rankings
from convqa.validation import Record, read_as, shorten

T = TypeVar("T")

_EXPECTED = "a TREC run, a run.json, or a JSON array of {Conversation_no, Turn_no, ...}"


class _Turn(Record):
    """A turn of a run.json, of a ground truth, or of a file like questions-rewritten.json."""

    Conversation_no: Any = ""
    Turn_no: int
    Model_passages: dict[str, FiniteFloat] | None = None
    Truth_passages: list[str] | None = None
    Model_rewrite: str | None = None
    Question: str | None = None


class FromFile:
    """Mixin of stations with a recording as their parameter ``path``."""

    path: str

    @cached_property
    def _recording(self) -> Recording:
        return Recording(Path(self.path))

    def identity(self) -> Mapping[str, str]:
        return {"recording": self._recording.identity}


class Recording:
    """A file of records by turn. ``identity`` is the digest of its content, for the fingerprint of a run.

    :raises InputError: if the file is unreadable.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data = read_bytes(path, _EXPECTED)
        self.identity = f"sha256:{hashlib.sha256(self._data).hexdigest()}"

    def rankings(self) -> dict[str, dict[str, float]]:
        """Return turn, as spelled in TREC files -> passage id -> score. True passages score 1, 1/2, 1/3 ...

        :raises InputError: naming the malformed line or record.
        """
        if not self._data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"[", b"{")):
            return read_rankings(self._path, enumerate(self._data.decode("utf-8-sig", "replace").split("\n"), 1))
        rankings: dict[str, dict[str, float]] = {}
        for turn, record in self._turns():
            if record.Model_passages is not None:
                rankings[turn] = record.Model_passages
            elif record.Truth_passages is not None:
                rankings[turn] = {id: 1 / rank for rank, id in enumerate(record.Truth_passages, 1)}
        return rankings

    def rewrites(self) -> dict[str, str]:
        """Return turn -> self-contained question, without blank ones.

        :raises InputError: naming the malformed record.
        """
        rewrites = {turn: record.Model_rewrite or record.Question or "" for turn, record in self._turns()}
        return {turn: text for turn, text in rewrites.items() if text.strip()}

    def _turns(self) -> Iterator[tuple[str, _Turn]]:
        records = parse_json(self._path, self._data, _EXPECTED)
        if not isinstance(records, list):
            raise InputError(f"{self._path}: expected {_EXPECTED}, got {shorten(records)}.")
        for number, value in enumerate(records):
            record = read_as(
                _Turn,
                value,
                f"{self._path}: record {number}",
                f"Expected {_EXPECTED}.",
            )
            yield encoded(str(TurnId(record.Conversation_no, record.Turn_no))), record


def of_turn(recorded: Mapping[str, T], id: TurnId) -> T | None:
    """Return the record of a turn. Runs over single-turn topics have only the topic's name, which is its first turn."""
    value = recorded.get(encoded(str(id)))
    return recorded.get(encoded(str(id.conversation))) if value is None and id.number in {0, 1} else value
