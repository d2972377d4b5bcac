"""The conversations that a server keeps, each for whoever held it, in one SQLite file."""

from __future__ import annotations

import secrets
import sqlite3
import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import orjson

from convqa.components.filtering import filter_of
from convqa.domain import Exchange, Hit, Passage, Ranking, Response, Turn, TurnId
from convqa.errors import InputError
from convqa.files import to_json_bytes
from convqa.server.access import Caller, within
from convqa.server.replies import RANKED
from convqa.stores.base import Filter

_TABLES = """
CREATE TABLE IF NOT EXISTS conversations (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, title TEXT NOT NULL, pipeline TEXT NOT NULL, created TEXT NOT NULL,
    updated TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS by_owner ON conversations (owner, updated);
CREATE TABLE IF NOT EXISTS turns (
    conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE, number INTEGER NOT NULL,
    pipeline TEXT NOT NULL, exchange BLOB NOT NULL, response BLOB NOT NULL, filter BLOB NOT NULL,
    PRIMARY KEY (conversation, number)
);
"""
_TITLE = 80


@dataclass(frozen=True, slots=True)
class Summary:
    """A conversation in a list; times are ISO 8601 in UTC."""

    id: str
    title: str
    pipeline: str
    turns: int
    created: str
    updated: str


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """A turn as it was answered: by which pipeline, what it adds to the history, and its trimmed response.

    ``response`` is None where the caller may no longer see all passages that it was answered from.
    """

    pipeline: str
    exchange: Exchange
    response: Response | None


class Conversations:
    """Kept in a file (":memory:" = until the server ends). A turn that was added survives a kill.

    :raises InputError: if the file cannot be used.
    """

    def __init__(self, file: str) -> None:
        self._lock = threading.Lock()
        try:
            if file != ":memory:":
                Path(file).parent.mkdir(parents=True, exist_ok=True)
                # For nobody else on this machine; its companions take its mode.
                Path(file).touch(0o600)
            self._database = sqlite3.connect(file, check_same_thread=False)
            self._database.executescript(f"PRAGMA journal_mode=WAL; PRAGMA foreign_keys=ON; {_TABLES}")
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"conversations: {file} cannot be used ({error}). Name another file.") from error

    def close(self) -> None:
        self._database.close()

    def of(self, owner: str, limit: int = 100, offset: int = 0, id: str | None = None) -> list[Summary]:
        """At most ``limit`` of an owner's conversations, the latest first; of an id only that one, if it is theirs."""
        rows = self._database.execute(
            "SELECT id, title, c.pipeline, count(number), created, updated FROM conversations c LEFT JOIN turns"
            " ON conversation = id WHERE owner = ? AND id = coalesce(?, id) GROUP BY id ORDER BY updated DESC, id"
            " LIMIT ? OFFSET ?",
            [owner, id, limit, offset],
        )
        return [Summary(*row) for row in rows]

    def find(self, owner: str, id: str) -> Summary | None:
        """A conversation of an owner; None where they have none of that id."""
        return next(iter(self.of(owner, id=id)), None)

    def turns(self, caller: Caller, id: str) -> list[KeptTurn]:
        """The turns of a conversation, in order; none where the caller has none of that id."""
        rows = self._database.execute(
            "SELECT t.pipeline, exchange, response, filter FROM turns t JOIN conversations ON id = conversation"
            " WHERE id = ? AND owner = ? ORDER BY number",
            [id, caller.owner],
        )
        return [_kept(caller.filter, *row) for row in rows]

    def begin(self, owner: str, turn: Turn, pipeline: str, exchange: Exchange, response: Response) -> str:
        """Keep the first turn of a new conversation, and return its id, which cannot be guessed."""
        id, now = secrets.token_urlsafe(12), _now()
        row = [id, owner, turn.question[:_TITLE], pipeline, now, now]
        with self._lock, self._database:
            self._database.execute("INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?)", row)
            self._insert(id, turn, pipeline, exchange, response)
        return id

    def add(self, id: str, turn: Turn, pipeline: str, exchange: Exchange, response: Response) -> bool:
        """Keep a turn, and say whether it could be: not if another took its number, or the conversation was deleted."""
        try:
            with self._lock, self._database:
                self._insert(id, turn, pipeline, exchange, response)
                self._database.execute("UPDATE conversations SET updated = ? WHERE id = ?", [_now(), id])
        except sqlite3.IntegrityError:
            return False
        return True

    def _insert(self, id: str, turn: Turn, pipeline: str, exchange: Exchange, response: Response) -> None:
        named = replace(_slim(response), id=TurnId(id, turn.id.number))
        data = [to_json_bytes(part) for part in (exchange.to_json(), named.to_json(), turn.filter)]
        row = [id, turn.id.number, pipeline, *data]
        self._database.execute("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?)", row)

    def delete(self, owner: str, id: str) -> bool:
        """Remove a conversation with its turns, and say whether there was one."""
        sql = "DELETE FROM conversations WHERE id = ? AND owner = ?"
        with self._lock, self._database:
            return bool(self._database.execute(sql, [id, owner]).rowcount)


def _kept(accepted: Filter, pipeline: str, exchange: bytes, response: bytes, filter: bytes) -> KeptTurn:
    said = Exchange.from_json(orjson.loads(exchange))
    if not within(filter_of(orjson.loads(filter)), accepted):
        return KeptTurn(pipeline, Exchange(said.question, status="failed"), None)
    return KeptTurn(pipeline, said, Response.from_json(orjson.loads(response)))


def _slim(response: Response) -> Response:
    """A response with only those texts that its reply shows: of cited and of nearest passages."""
    answer, ranking = response.answer, response.ranking or Ranking()
    shown = answer.cited_ids().union(answer.nearest) if answer else frozenset()
    hits = (
        Hit(hit.id, hit.score, passage if hit.id in shown else Passage(hit.id, "", passage.title, passage.url))
        if (passage := hit.passage) is not None and (hit.id in shown or place < RANKED)
        else Hit(hit.id, hit.score)
        for place, hit in enumerate(ranking.hits)
    )
    return replace(response, ranking=response.ranking and Ranking(tuple(hits)), reading=None)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
