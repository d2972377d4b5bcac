"""The journal of a run: one line per response, appended wave by wave."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from convqa.domain import Conversation, Response, TurnId
from convqa.driver.waves import Wave
from convqa.errors import RunError
from convqa.files import to_json_bytes, unwritable, whole_file

JOURNAL = "responses.jsonl"

logger = logging.getLogger(__name__)


class Journal:
    """Responses on disk, indexed by turn. Incomplete waves are ignored.

    The lines of a wave are consecutive. Their ``batch`` is [group, wave, number of responses], their ``history`` is
    [given exchanges, own exchanges].
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offsets: dict[TurnId, int] = {}
        self._file: FileIO | None = None
        self._reader: BinaryIO | None = None
        self._end = 0
        self.given = 0
        self.own = 0
        if path.exists():
            self._recover()

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, id: TurnId) -> bool:
        return id in self._offsets

    def get(self, id: TurnId) -> Response | None:
        """Return the response to a turn, or None."""
        offset = self._offsets.get(id)
        if offset is None:
            return None
        # Uses a buffered reader because the file for appending is unbuffered.
        if self._reader is None:
            self._reader = self._path.open("rb")
        self._reader.seek(offset)
        return Response.from_json(orjson.loads(self._reader.readline()))

    def responses(self, ids: Iterable[TurnId]) -> Iterator[Response]:
        """Yield the responses to these turns, in this order."""
        return (response for id in ids if (response := self.get(id)) is not None)

    def append(self, wave: Wave) -> None:
        """Append a wave durably.

        :raises StorageFull: if it cannot be written.
        """
        batch = [wave.group, wave.number, len(wave.responses)]
        lines = [
            to_json_bytes({"batch": batch, "history": history, **response.trimmed().to_json()}) + b"\n"
            for response, history in zip(wave.responses, wave.histories, strict=True)
        ]
        self._write(b"".join(lines))
        for response, line in zip(wave.responses, lines, strict=True):
            self._offsets[response.id] = self._end
            self._end += len(line)
        self.given += sum(given for given, _ in wave.histories)
        self.own += sum(own for _, own in wave.histories)

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
            for _, lines in whole_waves(self._path):
                remaining = [data for _, data in lines if TurnId.from_json(data["id"]) in kept]
                for data in remaining:
                    data["batch"][2] = len(remaining)
                    out.write(orjson.dumps(data, option=orjson.OPT_APPEND_NEWLINE))
        self.close()
        self._recover()

    def close(self) -> None:
        for file in (self._file, self._reader):
            if file is not None:
                file.close()
        self._file = self._reader = None

    def _write(self, data: bytes) -> None:
        """Write data after the last complete wave, over anything that a kill left there."""
        file = self._open()
        if self._reader is not None:  # its buffer is about to become outdated
            self._reader.close()
            self._reader = None
        self._refuse_removed(file)
        try:
            file.seek(self._end)
            file.truncate()
            written = 0
            while written < len(data):
                written += file.write(data[written:])
            os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(f"the journal {self._path}", error) from error

    def _refuse_removed(self, file: FileIO) -> None:
        """Stop a run whose folder was removed or replaced. Its responses would be lost."""
        try:
            same = os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except OSError:
            same = False
        if not same:
            raise RunError(
                f"the journal {self._path} was removed, or another file took its place, while the run was writing it. "
                "Run the same command again to answer all turns."
            )

    def _open(self) -> FileIO:
        if self._file is None:
            try:
                # Unbuffered, so that closing does not repeat a failed write.
                self._file = FileIO(self._path, "r+b" if self._path.exists() else "w+b")
            except OSError as error:
                raise unwritable(f"the journal {self._path}", error) from error
        return self._file

    def _recover(self) -> None:
        """Index the complete waves. The next append overwrites the rest."""
        self._offsets.clear()
        self._end = self.given = self.own = 0
        for end, lines in whole_waves(self._path):
            for offset, data in lines:
                self._offsets[TurnId.from_json(data["id"])] = offset
                self.given += data["history"][0]
                self.own += data["history"][1]
            self._end = end


def whole_waves(path: Path) -> Iterator[tuple[int, list[tuple[int, dict[str, Any]]]]]:
    """Yield the complete waves of a journal, as (offset of the end, [(offset, record)])."""
    offset = 0
    lines: list[tuple[int, dict[str, Any]]] = []
    with path.open("rb") as file:
        for line in file:
            data = _parse(line)
            if data is None or (lines and lines[0][1]["batch"] != data["batch"]):
                break
            lines.append((offset, data))
            offset += len(line)
            if len(lines) == data["batch"][2]:
                yield offset, lines
                lines = []
    whole = lines[0][0] if lines else offset
    if whole < path.stat().st_size:
        logger.warning("%s: incomplete or damaged after byte %d; convqa run answers these turns again.", path, whole)


def _parse(line: bytes) -> dict[str, Any] | None:
    """Parse a line of the journal. Return None if it is malformed."""
    try:
        data = orjson.loads(line)
        group, wave, size = data["batch"]
        given, own = data["history"]
        whole = all(isinstance(number, int) for number in (group, wave, size, given, own))
        TurnId.from_json(data["id"])
    except (ValueError, KeyError, TypeError, IndexError):
        return None
    return data if whole and line.endswith(b"\n") else None
