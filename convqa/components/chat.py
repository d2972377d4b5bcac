"""Asking a chat generator of Haystack: several requests at a time, each once, and what to make of those that fail."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

from haystack.dataclasses import ChatMessage
from pydantic import Field

from convqa.components.base import STATIONS, Station
from convqa.components.haystack import Wrapper
from convqa.components.members import describe, make, with_parameters
from convqa.domain import CAVEAT
from convqa.errors import InputError, RunError, StoreUnavailable
from convqa.models.memory import CacheFile
from convqa.places import cache_folder

log = logging.getLogger("convqa")

_REFUSED = frozenset([401, 403, 404])
"""Wrong key, no permission, no such model or path: nothing that another request could change."""

_AWAY = frozenset([429, 502, 503, 504])
"""Too much asked, or nobody behind the gateway: worth waiting for."""

TIMEOUT, AWAY, UNREADABLE = "timeout", "away", "unreadable"
"""Doubts: no reply in time, nobody there, and a reply that cannot be read."""

_IN_WORDS = {
    UNREADABLE: "the language model's reply cannot be read",
    TIMEOUT: "the language model took too long",
    AWAY: "the language model's server does not answer",
}

_PATIENCE = 8
"""Requests of one wave that may all run out of time before the server counts as away."""

_MOST_REPLIES = 10_000
"""Kept in memory; the oldest go first."""

_IN_FILE = 1_000_000
"""Replies that the file keeps, the latest."""


class Reply(NamedTuple):
    """The result of a request: a text, or the reason why there is none, if it concerns this request only."""

    text: str = ""
    doubt: str = ""


def plain(doubt: str) -> str:
    """A doubt, as somebody is told of it who talks to the system."""
    return _IN_WORDS.get(doubt, f"the request to the language model came to nothing: {doubt}")


def told(reason: str, then: str) -> str:
    """The note that tells the user why the language model did not do its part, and what was done instead."""
    return f"{CAVEAT}{reason[0].upper()}{reason[1:]}. {then}"


@with_parameters
class Asking(Wrapper, Station):
    """A station's other half, where the component is a chat generator: it takes ``messages`` and gives ``replies``.

    A server that is away, or asks to wait (429, 502, 503, 504), is waited for as a store is; one that refuses every
    request alike (401, 403, 404) is the user's mistake. With ``otherwise``, another member of the station that does the
    work where the model does not, both are a request that came to nothing.

    :param component: takes ``messages`` and gives ``replies``. Its key comes from the environment, not a pipeline.
    :param concurrency: requests at the same time; 1 for a component that does not bear threads.
    :param keep: keep replies on disk, in the cache folder, for later runs too.
    :param otherwise: another member of the station: its name, or ``{type: ..., init_parameters: {...}}``. A server that
        is away is then waited for no longer.
    """

    takes = ("messages",)
    gives = "replies"
    component: Any
    concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    keep: bool = False
    otherwise: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._other: Any = None
        if self.otherwise is not None:
            self._other = make(self.otherwise, "otherwise", STATIONS[self.station])
            self.inner = [self._other]
            self.otherwise = describe(self._other)
        self._name = type(self.wrapped).__name__
        if hasattr(self.wrapped, "close"):
            # The client's connections end with the station, not when the garbage collector meets them.
            weakref.finalize(self, self.wrapped.close).atexit = False
        # Where the component names no server, OpenAI's client takes it from there.
        named = self.component["init_parameters"].get("api_base_url")
        self._server = "" if named else os.environ.get("OPENAI_BASE_URL", "")
        model = json.dumps(self.component, sort_keys=True, default=str)
        file = (
            CacheFile(cache_folder() / "replies.sqlite", _IN_FILE, "replies are kept in memory") if self.keep else None
        )
        self._replies = _Replies(model + self._server, file)

    def warm_up(self) -> None:
        Wrapper.warm_up(self)
        Station.warm_up(self)

    def identity(self) -> Mapping[str, str]:
        """A digest of the server's address too, where the environment names it and not the pipeline."""
        if not self._server:
            return Station.identity(self)
        parts = urlsplit(self._server)
        # Without a login or a query: a digest must not help to guess a key.
        address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
        return {**Station.identity(self), "server": f"sha256:{hashlib.sha256(address.encode()).hexdigest()}"}

    def _asked(self, prompts: Mapping[str, Sequence[ChatMessage]]) -> dict[str, Reply]:
        """The replies to prompts, ``concurrency`` of them asked for at the same time.

        :param prompts: messages by all that they say, which is the key under which a reply is kept.
        """
        replies: dict[str, Reply] = {}
        pool = ThreadPoolExecutor(self.concurrency, "llm")
        try:
            asked = {pool.submit(self._one, prompt, messages): prompt for prompt, messages in prompts.items()}
            for done in as_completed(asked):
                replies[asked[done]] = done.result()
                if len(replies) >= _PATIENCE and all(reply.doubt == TIMEOUT for reply in replies.values()):
                    if self._other:
                        replies = {prompt: replies.get(prompt, Reply(doubt=TIMEOUT)) for prompt in prompts}
                        break
                    raise StoreUnavailable(f"{self._name}: {len(replies)} requests ran out of time, and none did not.")
        except BaseException as error:
            # A signal does not wait for a server that may never answer.
            pool.shutdown(wait=isinstance(error, Exception | RunError), cancel_futures=True)
            raise
        pool.shutdown(cancel_futures=True)
        return replies

    def _one(self, prompt: str, messages: Sequence[ChatMessage]) -> Reply:
        """The reply to one prompt. No reply at all is read as an empty one; what is empty is not kept."""
        written = self._replies.get(prompt)
        if not written:
            try:
                replies = self._ask(messages=list(messages))
                if not replies:
                    return Reply(self._written(ChatMessage.from_assistant("")))
                written = self._written(replies[0])
            except StoreUnavailable as error:
                # Clients call a reply that takes too long a failed connection; a server that works may be slow at one.
                if "Timeout" in type(error.__cause__).__name__:
                    return Reply(doubt=TIMEOUT)
                if self._other:
                    return Reply(doubt=AWAY)
                raise
            except Exception as error:
                return Reply(doubt=self._doubt(error))
            if written:
                self._replies.put(prompt, written)
        return Reply(written)

    def _written(self, reply: ChatMessage) -> str:
        """The part of a reply that is kept; one without text (a call of a tool, a refusal) is read as an empty one."""
        return reply.text or ""

    def _doubt(self, error: Exception) -> str:
        """The reason why there is no reply, where that concerns this prompt only.

        The server's own words are not repeated: they may quote the key.

        :raises InputError: if no prompt can be answered.
        :raises StoreUnavailable: if it is worth waiting.
        """
        status = getattr(error, "status_code", None)
        if self._other and status in _REFUSED | _AWAY:
            cure = "; check its key, the model's name and the address" if status in _REFUSED else ""
            return f"the server answers {status}{cure}"
        if status in _REFUSED:
            raise InputError(
                f"{self._name}: the server answers {status} to every request. Check its key in the environment, the "
                "model's name and the server's address."
            ) from None
        if status in _AWAY:
            raise StoreUnavailable(f"{self._name}: the server answers {status}.") from None
        log.debug("%s: what came of a request cannot be read", self._name, exc_info=error)
        return f"server error {status}" if status else UNREADABLE


class _Replies:
    """Replies that were paid for once: in memory and, where asked for, in a file that serves several processes.

    :param model: all that shapes a reply beside the prompt; part of every key. :param file: None = in memory only.
    """

    def __init__(self, model: str, file: CacheFile | None) -> None:
        self._model, self._file = model, file
        self._kept: dict[bytes, str] = {}
        self._lock = threading.Lock()

    def get(self, prompt: str) -> str | None:
        """The reply to a prompt, if it is known."""
        key = self._key(prompt)
        with self._lock:
            if key not in self._kept and self._file is not None:
                for data in self._file.read([key]).values():
                    self._keep(key, data.decode("utf-8", "surrogatepass"))
            return self._kept.get(key)

    def put(self, prompt: str, reply: str) -> None:
        """Keep a reply."""
        key = self._key(prompt)
        with self._lock:
            self._keep(key, reply)
            if self._file is not None:
                self._file.write({key: reply.encode("utf-8", "surrogatepass")})

    def _keep(self, key: bytes, reply: str) -> None:
        self._kept[key] = reply
        if len(self._kept) > _MOST_REPLIES:
            del self._kept[next(iter(self._kept))]

    def _key(self, prompt: str) -> bytes:
        return hashlib.sha256(f"{self._model}\0{prompt}".encode("utf-8", "surrogatepass")).digest()
