"""The journal: every response of a run on a line of its own, appended wave by wave, so that a kill loses little."""

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
    """Responses on disk, found by turn. Lines of one wave stand together; their ``batch`` is [group, wave, number of
    responses], their ``history`` [given exchanges, own exchanges]. A wave that is not whole is not there.
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
        """The response to a turn, or None."""
        offset = self._offsets.get(id)
        if offset is None:
            return None
        # A reader of its own: the file for appending has no buffer, and would read byte by byte.
        if self._reader is None:
            self._reader = self._path.open("rb")
        self._reader.seek(offset)
        return Response.from_json(orjson.loads(self._reader.readline()))

    def responses(self, ids: Iterable[TurnId]) -> Iterator[Response]:
        """The responses to these turns, in this order."""
        for id in ids:
            response = self.get(id)
            if response is not None:
                yield response

    def append(self, wave: Wave) -> None:
        """Add a wave; when this returns, it is on the disk.

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

    def has_failures(self) -> bool:
        """Whether any turn failed."""
        return any(response.error is not None for response in self.responses(list(self._offsets)))

    def without_failures(self, conversations: Iterable[Conversation]) -> int:
        """Forget failed turns and all later turns of their conversations; returns how many turns that were."""
        kept: set[TurnId] = set()
        for conversation in conversations:
            for turn in conversation.turns:
                response = self.get(turn.id)
                if response is None or response.error is not None:
                    break
                kept.add(turn.id)
        forgotten = len(self) - len(kept)
        if not forgotten:
            return 0
        with whole_file(self._path) as out:
            for _, lines in whole_waves(self._path):
                staying = [data for _, data in lines if TurnId.from_json(data["id"]) in kept]
                for data in staying:
                    data["batch"][2] = len(staying)
                    out.write(orjson.dumps(data, option=orjson.OPT_APPEND_NEWLINE))
        self.close()
        self._recover()
        return forgotten

    def close(self) -> None:
        for file in (self._file, self._reader):
            if file is not None:
                file.close()
        self._file = self._reader = None

    def _write(self, data: bytes) -> None:
        """Put data at the end of the whole waves, over whatever a kill left there."""
        file = self._open()
        if self._reader is not None:  # what it has read ahead is about to be written over
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
        """Stop a run whose folder was removed or replaced: its responses would go into a file that nobody can open."""
        try:
            same = os.path.samestat(os.fstat(file.fileno()), self._path.stat())
        except OSError:
            same = False
        if not same:
            raise RunError(
                f"the journal {self._path} was removed, or another file took its place, while the run was writing it. "
                "The same command answers all its turns anew."
            )

    def _open(self) -> FileIO:
        if self._file is None:
            try:
                # Unbuffered: after a failed write nothing may be left that closing would try to write again.
                self._file = FileIO(self._path, "r+b" if self._path.exists() else "w+b")
            except OSError as error:
                raise unwritable(f"the journal {self._path}", error) from error
        return self._file

    def _recover(self) -> None:
        """Index the whole waves; whatever a kill left behind them is cut off at the next append."""
        self._offsets.clear()
        self._end = self.given = self.own = 0
        for end, lines in whole_waves(self._path):
            for offset, data in lines:
                self._offsets[TurnId.from_json(data["id"])] = offset
                self.given += data["history"][0]
                self.own += data["history"][1]
            self._end = end


def whole_waves(path: Path) -> Iterator[tuple[int, list[tuple[int, dict[str, Any]]]]]:
    """The whole waves of a journal from its start: (offset behind the wave, [(offset, record)])."""
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
        lost = sum(_parse(line) is not None for line in file)
    if lost:
        logger.warning(
            "%s is damaged at byte %d: %d responses behind it do not count, and convqa run answers their turns again.",
            path, offset, lost,
        )  # fmt: skip


def _parse(line: bytes) -> dict[str, Any] | None:
    """A record of the journal, or None for what is none: half a line, or something of another origin."""
    try:
        data = orjson.loads(line)
        group, wave, size = data["batch"]
        given, own = data["history"]
        whole = all(isinstance(number, int) for number in (group, wave, size, given, own))
        TurnId.from_json(data["id"])
    except (ValueError, KeyError, TypeError, IndexError):
        return None
    return data if whole and line.endswith(b"\n") else None
