"""A run's input: read once and kept on disk, so that memory holds one group of conversations at a time."""

from __future__ import annotations

import hashlib
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from convqa.domain import Conversation, Turn
from convqa.files import write_errors


class Intake:
    """Conversations in order. ``digest`` covers all of them; ``conversations`` and ``turns`` count the kept ones.

    :param folder: the folder of the temporary file.
    :param keep: whether to keep the conversation at an index.
    :raises StorageFull: if the file cannot be written.
    """

    def __init__(
        self,
        conversations: Iterable[Conversation],
        folder: Path,
        keep: Callable[[int], bool] = lambda _: True,
    ) -> None:
        self.conversations = self.turns = 0
        digest = hashlib.sha256()
        errors = partial(write_errors, f"the copy of the input in {folder}")
        with errors():
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by __exit__
        try:
            for index, conversation in enumerate(conversations):
                digest.update(repr(conversation).encode())
                if not keep(index):
                    continue
                with errors():
                    pickle.dump(conversation, self._file)
                self.conversations += 1
                self.turns += len(conversation.turns)
            with errors():
                self._file.flush()
        except BaseException:
            with suppress(OSError):  # closing flushes again; the first error propagates
                self._file.close()
            raise
        self.digest = digest.hexdigest()

    def __iter__(self) -> Iterator[Conversation]:
        offset = 0
        while True:
            self._file.seek(offset)  # another iteration may have moved the position
            try:
                conversation: Conversation = pickle.load(self._file)
            except EOFError:
                return
            offset = self._file.tell()
            yield conversation

    def turns_in_order(self) -> Iterator[Turn]:
        """Yield all turns, conversation by conversation."""
        return (turn for conversation in self for turn in conversation.turns)

    def close(self) -> None:
        self._file.close()
