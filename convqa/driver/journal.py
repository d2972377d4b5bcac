"""The journal of a run: one line per response, appended wave by wave."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from convqa.domain import Conversation, Response, TurnId
from convqa.driver.waves import Wave
from convqa.errors import RunError
from convqa.files import to_json_bytes, whole_file, write_errors

JOURNAL = "responses.jsonl"

logger = logging.getLogger(__name__)


class JournalLine(NamedTuple):
    """A response as JSON, and where its line starts and ends in the file.

    ``batch`` of the record is [group, wave, number of responses], ``history`` is [given exchanges, own exchanges].
    """

    record: dict[str, Any]
    start: int
    end: int

    @property
    def turn(self) -> TurnId:
        return TurnId.from_json(self.record["id"])


class Journal:
    """Responses on disk, indexed by turn. Incomplete waves are ignored.

    ``given`` and ``own`` count the exchanges in histories.

    :raises StorageFull: if the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open()

    def _open(self) -> None:
        """Open the file and index its complete waves. The next append overwrites the rest."""
        with write_errors(f"the journal {self._path}"):
            # Unbuffered, so that closing does not repeat a failed write.
            self._file = FileIO(self._path, "r+b" if self._path.exists() else "w+b")
        self._places: dict[TurnId, tuple[int, int]] = {}
        self._end = 0
        self.given = 0
        self.own = 0
        for wave in whole_waves(self._path):
            for line in wave:
                self._add(line)

    def _add(self, line: JournalLine) -> None:
        given, own = line.record["history"]
        self.given += given
        self.own += own
        self._places[line.turn] = (line.start, line.end)
        self._end = line.end

    def __len__(self) -> int:
        return len(self._places)

    def get(self, id: TurnId) -> Response | None:
        """Return the response to a turn, or None."""
        if id not in self._places:
            return None
        start, end = self._places[id]
        self._file.seek(start)
        return Response.from_json(orjson.loads(self._file.read(end - start)))

    def responses(self, ids: Iterable[TurnId]) -> Iterator[Response]:
        """Yield the responses to these turns, in this order."""
        return (response for response in map(self.get, ids) if response is not None)

    def append(self, wave: Wave) -> None:
        """Append a wave durably, over anything that a kill left after the last complete wave.

        :raises RunError: if the file was removed. :raises StorageFull: if it cannot be written.
        """
        batch = [wave.group, wave.number, len(wave.responses)]
        lines = []
        data = bytearray()
        for response, history in zip(wave.responses, wave.histories, strict=True):
            record = {"batch": batch, "history": history, **response.trimmed().to_json()}
            start = self._end + len(data)
            data += to_json_bytes(record) + b"\n"
            lines.append(JournalLine(record, start, self._end + len(data)))
        if os.fstat(self._file.fileno()).st_nlink == 0:
            raise RunError(
                f"the journal {self._path} was removed, or another file took its place, while the run was writing it. "
                "Run the same command again to answer all turns."
            )
        with write_errors(f"the journal {self._path}"):
            self._file.seek(self._end)
            self._file.truncate()
            written = 0
            while written < len(data):
                written += self._file.write(data[written:])
            os.fsync(self._file.fileno())
        for line in lines:
            self._add(line)

    def without_failures(self, conversations: Iterable[Conversation]) -> None:
        """Remove failed turns and all later turns of their conversations."""
        kept: set[TurnId] = set()
        for conversation in conversations:
            for turn in conversation.turns:
                response = self.get(turn.id)
                if response is None or response.error is not None:
                    break
                kept.add(turn.id)
        with whole_file(self._path) as out:
            for wave in whole_waves(self._path):
                records = [line.record for line in wave if line.turn in kept]
                for record in records:
                    record["batch"][2] = len(records)
                    out.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
        self.close()
        self._open()

    def close(self) -> None:
        self._file.close()


def whole_waves(path: Path) -> Iterator[list[JournalLine]]:
    """Yield the lines of each complete wave of a journal."""
    whole = end = 0
    wave: list[JournalLine] = []
    with path.open("rb") as file:
        for text in file:
            record = _parse(text)
            if record is None or (wave and wave[0].record["batch"] != record["batch"]):
                break
            wave.append(JournalLine(record, end, end + len(text)))
            end += len(text)
            if len(wave) == record["batch"][2]:
                yield wave
                whole = end
                wave = []
    if whole < path.stat().st_size:
        logger.warning("%s: incomplete or damaged after byte %d; convqa run answers these turns again.", path, whole)


def _parse(text: bytes) -> dict[str, Any] | None:
    """Parse a line of the journal. Return None if it is malformed."""
    try:
        record = orjson.loads(text)
        _group, _wave, _size = record["batch"]
        _given, _own = record["history"]
        TurnId.from_json(record["id"])
    except (ValueError, KeyError, TypeError, IndexError):
        return None
    return record if text.endswith(b"\n") else None
