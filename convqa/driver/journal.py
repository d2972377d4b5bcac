"""The journal: every response of a run on a line of its own, appended wave by wave, so that a kill loses little."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from convqa.domain import Conversation, Response, TurnId
from convqa.driver.waves import Wave
from convqa.errors import StorageFull
from convqa.files import whole_file

JOURNAL = "responses.jsonl"


class Journal:
    """Responses on disk, found by turn. Lines of one wave stand together; their ``batch`` is [group, wave, number of
    responses], their ``history`` [given exchanges, own exchanges]. A wave that is not whole is not there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offsets: dict[TurnId, int] = {}
        self._file: BinaryIO | None = None
        self._end = 0
        self.given = 0
        self.own = 0
        if path.exists():
            self._recover()

    def __len__(self) -> int:
        return len(self._offsets)

    def get(self, id: TurnId) -> Response | None:
        """The response to a turn, or None."""
        offset = self._offsets.get(id)
        if offset is None:
            return None
        file = self._open()
        file.seek(offset)
        return Response.from_json(orjson.loads(file.readline()))

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
        file = self._open()
        batch = [wave.group, wave.number, len(wave.responses)]
        try:
            file.seek(self._end)
            file.truncate()
            end = self._end
            for response, history in zip(wave.responses, wave.histories, strict=True):
                data = {"batch": batch, "history": history, **response.trimmed().to_json()}
                line = orjson.dumps(data, option=orjson.OPT_APPEND_NEWLINE)
                file.write(line)
                self._offsets[response.id] = end
                end += len(line)
            file.flush()
            os.fsync(file.fileno())
        except OSError as error:
            for response in wave.responses:
                self._offsets.pop(response.id, None)
            raise StorageFull(f"the journal {self._path} cannot be written: {error.strerror or error}.") from error
        self._end = end
        self.given += sum(given for given, _ in wave.histories)
        self.own += sum(own for _, own in wave.histories)

    def without_failures(self, conversations: Sequence[Conversation]) -> int:
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
            for _, lines in _batches(self._open()):
                staying = [data for _, data in lines if TurnId.from_json(data["id"]) in kept]
                for data in staying:
                    data["batch"][2] = len(staying)
                    out.write(orjson.dumps(data, option=orjson.OPT_APPEND_NEWLINE))
        self.close()
        self._recover()
        return forgotten

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> BinaryIO:
        if self._file is None:
            try:
                self._file = self._path.open("r+b" if self._path.exists() else "w+b")
            except OSError as error:
                raise StorageFull(f"the journal {self._path} cannot be opened: {error.strerror or error}.") from error
        return self._file

    def _recover(self) -> None:
        """Index the whole waves; whatever a kill left behind them is cut off at the next append."""
        self._offsets.clear()
        self._end = self.given = self.own = 0
        for end, lines in _batches(self._open()):
            for offset, data in lines:
                self._offsets[TurnId.from_json(data["id"])] = offset
                self.given += data["history"][0]
                self.own += data["history"][1]
            self._end = end


def _batches(file: BinaryIO) -> Iterator[tuple[int, list[tuple[int, dict[str, Any]]]]]:
    """Whole waves from the start of the file: (offset behind the wave, [(offset, record)])."""
    file.seek(0)
    offset = 0
    lines: list[tuple[int, dict[str, Any]]] = []
    for line in file:
        try:
            data = orjson.loads(line)
            batch = data["batch"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return
        if not line.endswith(b"\n") or (lines and lines[0][1]["batch"] != batch):
            return
        lines.append((offset, data))
        offset += len(line)
        if len(lines) == batch[2]:
            yield offset, lines
            lines = []
