"""The conversations of a server's callers, kept in an SQLite file."""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import orjson

from convqa.components.filtering import filter_of
from convqa.domain import Exchange, Reading, Response, Turn, TurnId
from convqa.driver.history import exchange
from convqa.errors import InputError
from convqa.exports import replies
from convqa.files import to_json_bytes
from convqa.places import data_folder
from convqa.server.access import Caller, within
from convqa.stores import key_of

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
CREATE TABLE IF NOT EXISTS feedback (
    conversation TEXT NOT NULL, number INTEGER NOT NULL, verdict TEXT NOT NULL, comment TEXT NOT NULL,
    PRIMARY KEY (conversation, number),
    FOREIGN KEY (conversation, number) REFERENCES turns (conversation, number) ON DELETE CASCADE
);
"""
MAX_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A conversation in a list. Times are ISO 8601 in UTC. ``good`` and ``bad``: numbers of rated answers."""

    id: str
    title: str
    pipeline: str
    turns: int
    created: str
    updated: str
    good: int = 0
    bad: int = 0


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """A kept turn with its pipeline, its exchange, its trimmed response and what a person thinks of it."""

    pipeline: str
    exchange: Exchange
    response: Response
    feedback: replies.FeedbackReply | None = None


class Conversations:
    """The conversations in a file (":memory:" = until the server ends). Added turns survive a kill.

    :param days: conversations are deleted this many days after their last turn; None = never.
    :raises InputError: if the file cannot be used.
    """

    def __init__(self, file: str, days: int | None = None) -> None:
        self._lock = threading.Lock()
        self._days = days
        try:
            if file != ":memory:":
                Path(file).parent.mkdir(parents=True, exist_ok=True)
                # Readable by the owner only; SQLite's journal files take the same mode.
                Path(file).touch(0o600)
            self._database = sqlite3.connect(file, check_same_thread=False)
            self._database.executescript(f"PRAGMA journal_mode=WAL; PRAGMA foreign_keys=ON; {_TABLES}")
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"conversations: {file} cannot be used ({error}). Name another file.") from error
        self._delete_old()

    def close(self) -> None:
        self._database.close()

    def summaries(
        self,
        owner: str,
        limit: int = 100,
        id: str | None = None,
    ) -> list[ConversationSummary]:
        """Return an owner's conversations, or only the one with an id, latest first."""
        self._delete_old()
        rows = self._database.execute(
            "SELECT id, title, c.pipeline, count(t.number), created, updated,"
            " count(CASE verdict WHEN 'good' THEN 1 END), count(CASE verdict WHEN 'bad' THEN 1 END)"
            " FROM conversations c LEFT JOIN turns t ON t.conversation = id"
            " LEFT JOIN feedback f ON f.conversation = id AND f.number = t.number"
            " WHERE owner = ? AND id = coalesce(?, id) GROUP BY id ORDER BY updated DESC, id LIMIT ?",
            [owner, id, limit],
        )
        return [ConversationSummary(*row) for row in rows]

    def find(self, owner: str, id: str) -> ConversationSummary | None:
        """Return an owner's conversation, None if it does not exist."""
        return next(iter(self.summaries(owner, id=id)), None)

    def turns(self, caller: Caller, id: str) -> list[KeptTurn]:
        """Return the turns of a caller's conversation in order, none if it does not exist.

        An answer from passages that the caller may no longer see is replaced by a failure.
        """
        rows = self._database.execute(
            "SELECT t.pipeline, exchange, response, filter, verdict, comment FROM turns t"
            " JOIN conversations ON id = t.conversation"
            " LEFT JOIN feedback f ON f.conversation = id AND f.number = t.number"
            " WHERE id = ? AND owner = ? ORDER BY t.number",
            [id, caller.owner],
        )
        turns = []
        for pipeline, exchange_json, response_json, filter_json, verdict, comment in rows:
            kept_exchange = Exchange.from_json(orjson.loads(exchange_json))
            response = Response.from_json(orjson.loads(response_json))
            if not within(filter_of(orjson.loads(filter_json)), caller.filter):
                kept_exchange = Exchange(kept_exchange.question, status="failed")
                response = Response(response.id, error=replies.NO_LONGER)
            feedback = replies.FeedbackReply(verdict, comment) if verdict else None
            turns.append(KeptTurn(pipeline, kept_exchange, response, feedback))
        return turns

    def add(
        self,
        owner: str,
        id: str | None,
        turn: Turn,
        pipeline: str,
        response: Response,
        replaces: bool = False,
    ) -> str | None:
        """Add a turn to a conversation, or to a new one with an unguessable id. Return the conversation's id.

        Return None if the turn's number is taken or the conversation was deleted.

        :param replaces: whether the turn takes the place of the one with its number and of all after it.
        """
        number = turn.id.number
        title = turn.question[:MAX_TITLE_CHARS]
        now = _now()
        is_new = id is None
        id = id or secrets.token_urlsafe(12)
        row = [
            id,
            number,
            pipeline,
            to_json_bytes(exchange(turn, response).to_json()),
            to_json_bytes(replace(_trimmed(response), id=TurnId(id, number)).to_json()),
            to_json_bytes(turn.filter),
        ]
        try:
            with self._lock, self._database:
                if is_new:
                    first = [id, owner, title, pipeline, now, now]
                    self._database.execute("INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?)", first)
                if replaces:
                    self._database.execute("DELETE FROM turns WHERE conversation = ? AND number >= ?", [id, number])
                    if number == 1:
                        self._database.execute("UPDATE conversations SET title = ? WHERE id = ?", [title, id])
                self._database.execute("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?)", row)
                self._database.execute("UPDATE conversations SET updated = ? WHERE id = ?", [now, id])
        except sqlite3.IntegrityError:
            return None
        return id

    def delete(self, owner: str, id: str) -> bool:
        """Delete a conversation with its turns. Return False if it does not exist."""
        return self._change(
            "DELETE FROM conversations WHERE id = ? AND owner = ?",
            id,
            owner,
        )

    def rename(self, owner: str, id: str, title: str) -> bool:
        """Give a conversation another title. Return False if it does not exist."""
        return self._change(
            "UPDATE conversations SET title = ? WHERE id = ? AND owner = ?",
            title,
            id,
            owner,
        )

    def rate(
        self,
        owner: str,
        id: str,
        number: int,
        verdict: str,
        comment: str,
    ) -> bool:
        """Store what a person thinks of a turn, "" = nothing. Return False if it does not exist."""
        return self._change(
            "INSERT OR REPLACE INTO feedback SELECT conversation, number, ?, ? FROM turns"
            " JOIN conversations ON id = conversation WHERE id = ? AND owner = ? AND number = ?",
            verdict,
            comment,
            id,
            owner,
            number,
        )

    def rated(self) -> Iterator[tuple[str, list[KeptTurn]]]:
        """Yield the id of every conversation with a rated turn, and its turns."""
        ids = self._database.execute("SELECT id, owner FROM conversations ORDER BY created, id").fetchall()
        for id, owner in ids:
            turns = self.turns(Caller(owner), id)
            if any(turn.feedback for turn in turns):
                yield id, turns

    def _delete_old(self) -> None:
        if self._days is not None:
            self._change("DELETE FROM conversations WHERE julianday('now') - julianday(updated) > ?", self._days)

    def _change(self, sql: str, *values: object) -> bool:
        """Return whether a statement changed anything."""
        with self._lock, self._database:
            return bool(self._database.execute(sql, values).rowcount)


def _trimmed(response: Response) -> Response:
    """Drop the texts that a reply does not show, of passages and spans."""
    answer, ranking, reading = response.answer, response.ranking, response.reading
    if ranking is not None:
        others = [reply.id for reply in replies.others(response)]
        with_text = answer.cited_ids().union(answer.nearest, others) if answer else ()
        ranking = ranking.trimmed(with_text, replies.MAX_HITS)
    if reading is not None:
        reading = Reading(reading.spans[: replies.MAX_HITS], reading.null_score)
    return replace(response, ranking=ranking, reading=reading)


def file_for(collections: Iterable[str]) -> str:
    """Return the conversations file of a set of collections that are served together."""
    keys = sorted({key_of(collection) for collection in collections})
    digest = hashlib.blake2b(os.fsencode("\n".join(keys)), digest_size=8).hexdigest()
    return str(data_folder() / f"conversations-{digest}.sqlite")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
