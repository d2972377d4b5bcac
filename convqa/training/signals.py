"""Ctrl-C and SIGTERM that wait until it is safe."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Held:
    """Within it, a first SIGINT or SIGTERM only sets ``waiting``; ``deliver`` gives it to the handler that was there.

    A second one is delivered at once. In other threads than the main one nothing is held, as Python gives signals to
    the main thread alone.
    """

    def __init__(self) -> None:
        self.waiting: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._hold)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        if kind is None:
            self.deliver()

    def deliver(self) -> None:
        """Let what was held have its effect; without one nothing happens."""
        if self.waiting is not None:
            number, self.waiting = self.waiting, None
            for held, handler in self._before.items():
                signal.signal(held, handler)
            signal.raise_signal(number)

    def _hold(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the handler's signature
        if self.waiting is not None:
            self.deliver()
        self.waiting = number
