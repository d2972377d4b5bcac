"""A run's input: read once, kept on disk, walked as often as needed, so that memory holds one group of it."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

import orjson

from convqa.domain import Conversation, Turn
from convqa.files import to_json_bytes, unwritable


class Intake:
    """Conversations in order. ``digest`` is of all of them; ``conversations`` and ``turns`` say how many are kept.

    :param keep: whether the conversation at a place is kept.
    :param folder: where the file is that holds them until this is closed; it has no name there.
    :raises StorageFull: if it cannot be written; else whatever reading the input raises.
    """

    def __init__(
        self, conversations: Iterable[Conversation], folder: Path, keep: Callable[[int], bool] = lambda _: True
    ) -> None:
        self.conversations = self.turns = 0
        digest = hashlib.sha256()
        with _errors_in(folder):
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open until this is closed
        try:
            for place, conversation in enumerate(conversations):
                line = to_json_bytes(conversation.to_json())
                digest.update(line)
                if not keep(place):
                    continue
                with _errors_in(folder):
                    self._file.write(line + b"\n")
                self.conversations += 1
                self.turns += len(conversation.turns)
            with _errors_in(folder):
                self._file.flush()
        except BaseException:
            with suppress(OSError):  # closing writes what is left: the first error is the one to tell
                self._file.close()
            raise
        self.digest = digest.hexdigest()

    def __iter__(self) -> Iterator[Conversation]:
        place = 0
        while True:
            self._file.seek(place)  # another walk may have moved on in between
            line = self._file.readline()
            if not line:
                return
            place = self._file.tell()
            yield Conversation.from_json(orjson.loads(line))

    def turns_in_order(self) -> Iterator[Turn]:
        """All turns, conversation by conversation."""
        return (turn for conversation in self for turn in conversation.turns)

    def __enter__(self) -> Intake:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


@contextmanager
def _errors_in(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(f"the copy of the input in {folder}", error) from error
