"""Once per process: a model is loaded by whoever asks first; others wait for it and share it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from convqa.workers.threads import threads

T = TypeVar("T")

_LOADED: dict[Hashable, Any] = {}
_LOCKS: dict[Hashable, threading.Lock] = {}
_LOCK = threading.Lock()


def once(key: Hashable, make: Callable[[], T]) -> T:
    """The value that ``make`` returned the first time for this key. An error is not kept: the next call tries again."""
    with _LOCK:
        lock = _LOCKS.setdefault(key, threading.Lock())
    with lock:
        if key not in _LOADED:
            _LOADED[key] = make()
        return _LOADED[key]  # type: ignore[no-any-return]


def workers() -> ThreadPoolExecutor:
    """The process's threads that run models, one sequence each."""
    return once("workers", lambda: ThreadPoolExecutor(threads(), thread_name_prefix="convqa-model"))


def _forget() -> None:
    """In a forked child the parent's threads are gone, and with them what models and locks rely on."""
    global _LOCK
    _LOCK = threading.Lock()
    _LOADED.clear()
    _LOCKS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
