"""Values computed once per process, such as loaded models."""

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
    """Return the value that ``make`` returned on the first call for this key; after an error the next call retries."""
    with _LOCK:
        lock = _LOCKS.setdefault(key, threading.Lock())
    with lock:
        if key not in _LOADED:
            _LOADED[key] = make()
        return _LOADED[key]  # type: ignore[no-any-return]


def workers() -> ThreadPoolExecutor:
    """Return the process's thread pool that runs models."""
    return once("workers", lambda: ThreadPoolExecutor(threads(), thread_name_prefix="convqa-model"))


def _forget() -> None:
    """Forget everything in a forked child, which lacks the parent's threads that models and locks need."""
    global _LOCK
    _LOCK = threading.Lock()
    _LOADED.clear()
    _LOCKS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
