"""The part of a run's input that this run answers: all of it, or a shard's groups of conversations."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from convqa.domain import Conversation, Turn
from convqa.driver.intake import Intake
from convqa.driver.waves import batched
from convqa.workers.shard import ALL, Shard

logger = logging.getLogger(__name__)


class Part:
    """A part of an input, with the numbers of its groups, conversations and turns."""

    def __init__(self, intake: Intake, batch_size: int, shard: Shard | None) -> None:
        self._intake, self._batch_size, self._shard = intake, batch_size, shard
        self.conversations, self.turns = intake.conversations, intake.turns
        if shard is not None:
            lengths = [len(conversation.turns) for conversation in self]
            self.conversations, self.turns = len(lengths), sum(lengths)
        self.groups = sum(1 for _ in (shard or ALL).of(range(-(-intake.conversations // batch_size))))

    def __iter__(self) -> Iterator[Conversation]:
        for group in (self._shard or ALL).of(batched(self._intake, self._batch_size)):
            yield from group

    def turns_in_order(self) -> Iterator[Turn]:
        """All turns, conversation by conversation."""
        return (turn for conversation in self for turn in conversation.turns)

    def marked(self, mark: Mapping[str, Any]) -> dict[str, Any]:
        """The fingerprint of this part: that of the run, and the shard."""
        return dict(mark) if self._shard is None else {**mark, "shard": str(self._shard)}

    def warn_of_idle(self, workers: int) -> None:
        """Say so where there are fewer groups than workers, or none for this shard."""
        made = f"--batch-size {self._batch_size} makes {-(-self._intake.conversations // self._batch_size)} groups"
        if self._shard is not None and not self.groups:
            logger.warning("shard %s has no conversations: %s. A smaller one makes more.", self._shard, made)
        elif self.groups < workers:
            logger.warning("%d of %d workers have nothing to do: %s. A smaller one makes more.",
                           workers - self.groups, workers, made)  # fmt: skip
