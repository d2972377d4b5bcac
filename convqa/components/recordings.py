"""Recorded rankings and rewrites of other systems, read from their files by turn."""

from __future__ import annotations

import gzip
import hashlib
import math
import zlib
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from convqa.domain import TurnId
from convqa.errors import InputError
from convqa.files import parse_json, read_bytes
from convqa.metrics.trec import encoded, parsed_line
from convqa.validation import shorten

T = TypeVar("T")

_EXPECTED = "a TREC run, run.json, or a JSON array of {Conversation_no, Turn_no, ...}"


class FromFile:
    """Mixin of stations with a recording as their parameter ``path``."""

    path: str

    @cached_property
    def _recording(self) -> Recording:
        return Recording(self.path)

    def identity(self) -> Mapping[str, str]:
        return {"recording": self._recording.identity}


class Recording:
    """A file of records by turn. ``identity`` is the digest of its content, for the fingerprint of a run.

    :raises InputError: if the file is unreadable.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        data = read_bytes(self.path, _EXPECTED)
        self.identity = f"sha256:{hashlib.sha256(data).hexdigest()}"
        if data.startswith(b"\x1f\x8b"):
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError, zlib.error) as error:
                raise InputError(f"{self.path}: damaged gzip ({error}).") from error
        self._data = data

    @property
    def is_json(self) -> bool:
        """Whether the file is JSON rather than a TREC run."""
        return self._data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"[", b"{"))

    def rankings(self) -> dict[str, dict[str, float]]:
        """Return turn, as spelled in TREC files -> passage id -> score.

        :raises InputError: naming the malformed line or record.
        """
        if self.is_json:
            return self.values(_scores, "Model_passages", "Truth_passages")
        rankings: dict[str, dict[str, float]] = {}
        for number, line in enumerate(self._text().split("\n"), 1):
            if not line.strip():
                continue
            try:
                turn, id, score = parsed_line(line)
                if not math.isfinite(score):
                    raise ValueError
            except ValueError:
                expected = "expected TURN Q0 PASSAGE RANK SCORE TAG, separated by spaces"
                raise InputError(f"{self.path}: line {number}: {expected}, got {shorten(line)}.") from None
            rankings.setdefault(turn, {})[id] = score
        return rankings

    def values(self, check: Callable[[Any], T | None], *fields: str) -> dict[str, T]:
        """Return turn, as spelled in TREC files -> the first of these fields that its record has.

        :param check: returns the value of a field, None if it is malformed.
        :raises InputError: naming the malformed record.
        """
        expected = "a run.json, or a JSON array of {Conversation_no, Turn_no, ...}"
        records = parse_json(self.path, self._data, expected)
        if not isinstance(records, list):
            raise InputError(f"{self.path}: expected {expected}, got {shorten(records)}.")
        values: dict[str, T] = {}
        for number, record in enumerate(records):
            where = f"{self.path}: record {number}"
            if not isinstance(record, dict) or not isinstance(record.get("Turn_no"), int):
                raise InputError(
                    f"{where}: expected an object with Conversation_no and Turn_no, got {shorten(record)}."
                )
            field = next((name for name in fields if record.get(name) is not None), None)
            if field is not None:
                if (value := check(record[field])) is None:
                    raise InputError(f"{where}: {field}: malformed value {shorten(record[field])}.")
                values[encoded(str(TurnId(record.get("Conversation_no", ""), record["Turn_no"])))] = value
        return values

    def _text(self) -> str:
        try:
            return self._data.decode()
        except UnicodeDecodeError as error:
            raise InputError(f"{self.path}: byte {error.start + 1} is not UTF-8; expected {_EXPECTED}.") from error


def of_turn(recorded: Mapping[str, T], id: TurnId) -> T | None:
    """Return the record of a turn. Runs over single-turn topics have only the topic's name, which is its first turn."""
    value = recorded.get(encoded(str(id)))
    return recorded.get(encoded(str(id.conversation))) if value is None and id.number <= 1 else value


def _scores(value: Any) -> dict[str, float] | None:
    if isinstance(value, list) and all(isinstance(id, str) for id in value):  # Truth_passages have no scores
        return {id: 1 / rank for rank, id in enumerate(value, 1)}
    try:
        is_scores = isinstance(value, dict) and all(map(math.isfinite, value.values()))
    except (TypeError, OverflowError):  # not a number, or an integer beyond the range of floats
        return None
    return value if is_scores else None
