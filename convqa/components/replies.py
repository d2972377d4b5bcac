"""Replies that were paid for once: kept by the content of what was asked, in memory and, where asked for, on disk."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
from pathlib import Path

logger = logging.getLogger(__name__)

MOST = 10_000
"""Replies in memory; the oldest go first."""


class Replies:
    """A cache for several threads; its file serves several processes. What it cannot keep is asked again, no more.

    :param model: all that shapes a reply beside the prompt; part of every key.
    :param path: an SQLite file; None = in memory only.
    """

    def __init__(self, model: str, path: Path | None = None) -> None:
        self._model = model
        self._kept: dict[str, str] = {}
        self._lock = threading.Lock()
        self._file = None if path is None else _opened(path)

    def get(self, prompt: str) -> str | None:
        """The reply to a prompt, if it is known."""
        key = self._key(prompt)
        with self._lock:
            if key not in self._kept and self._file is not None:
                for (reply,) in self._asked("SELECT reply FROM replies WHERE key = ?", key):
                    self._keep(key, reply)
            return self._kept.get(key)

    def put(self, prompt: str, reply: str) -> None:
        """Keep a reply."""
        key = self._key(prompt)
        with self._lock:
            self._keep(key, reply)
            if self._file is not None:
                self._asked("INSERT OR REPLACE INTO replies VALUES (?, ?)", key, reply)

    def _keep(self, key: str, reply: str) -> None:
        self._kept[key] = reply
        if len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]

    def _asked(self, statement: str, *values: str) -> list[tuple[str]]:
        assert self._file is not None
        try:
            with self._file:
                return self._file.execute(statement, values).fetchall()
        except (sqlite3.Error, UnicodeEncodeError) as error:
            logger.warning("the cache of replies cannot be used (%s): they are kept in memory only.", error)
            self._file = None
            return []

    def _key(self, prompt: str) -> str:
        return hashlib.sha256(f"{self._model}\0{prompt}".encode("utf-8", "surrogatepass")).hexdigest()


def _opened(path: Path) -> sqlite3.Connection | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = sqlite3.connect(path, timeout=10, check_same_thread=False)
        with file:
            file.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
    except (OSError, sqlite3.Error) as error:
        logger.warning("the cache of replies %s cannot be used (%s): they are kept in memory only.", path, error)
        return None
    return file
