"""Concurrent requests to a chat generator of Haystack, with cached replies and handling of failures."""

from __future__ import annotations

import json
import logging
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, NamedTuple

from haystack.dataclasses import ChatMessage
from pydantic import Field

from convqa.components.base import STATIONS, Station
from convqa.components.members import describe, make, make_component, member
from convqa.components.prompts import load_prompt
from convqa.domain import CAVEAT
from convqa.errors import InputError, RunError, StoreUnavailable
from convqa.models.cache import Cache
from convqa.places import cache_folder
from convqa.validation import refuse_secrets

log = logging.getLogger("convqa")

_OUTAGES = frozenset({"ConnectionError", "TransportError", "APIConnectionError"})
"""Names of connection errors of Python, requests, httpx and OpenAI's client."""

_REFUSAL_STATUSES = frozenset([401, 403, 404])
"""Wrong key, no permission, unknown model or path: retrying does not help."""

_OUTAGE_STATUSES = frozenset([429, 502, 503, 504])
"""Rate limit, or an unavailable server behind a gateway: retried."""

TIMEOUT = "timeout"
AWAY = "away"
UNREADABLE = "unreadable"
"""Doubts: no reply in time, an unavailable server, and a malformed reply."""

_DESCRIPTIONS = {
    UNREADABLE: "the language model's reply cannot be read",
    TIMEOUT: "the language model took too long",
    AWAY: "the language model's server does not answer",
}

_MAX_REPLIES_IN_MEMORY = 10_000
"""The oldest are removed first."""

_MAX_REPLIES_IN_FILE = 1_000_000


class Reply(NamedTuple):
    """The result of a request: a text, or the reason why this request has none."""

    text: str = ""
    doubt: str = ""
    usage: tuple[int, ...] = ()
    """Tokens of the prompt and of the reply."""


def plain(doubt: str) -> str:
    """Return the user's description of a doubt."""
    return _DESCRIPTIONS.get(doubt, f"the request to the language model failed: {doubt}")


def fallback_note(reason: str, then: str) -> str:
    """Return the note for the user about why the language model failed and what was done instead."""
    sentence = reason[0].upper() + reason[1:]
    return f"{CAVEAT}{sentence}. {then}"


@member
class ChatStation(Station):
    """Mixin of stations that wrap a chat generator of Haystack, which takes ``messages`` and returns ``replies``.

    An unavailable server (also 429, 502, 503, 504) is retried as a store is. A server that rejects every request (401,
    403, 404) is the user's mistake. With a ``fallback``, both only fail the request.

    :param component: the chat generator. Its key comes from the environment, not from the pipeline.
    :param prompt: a file in ``configs/prompts``, or the path of such a file.
    :param concurrency: number of concurrent requests; 1 for a component that is not thread-safe.
    :param cache_replies: keep replies on disk, in the cache folder, for later runs.
    :param fallback: another member of the station: its name, or ``{type: ..., init_parameters: {...}}``.
    """

    component: Any
    concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    cache_replies: bool = False
    fallback: Any = None
    prompt: str = ""

    def __post_init__(self) -> None:
        """:raises InputError: for a component with other sockets, and for a secret in plain text."""
        self.wrapped = make_component(self.component, "component")
        self._name = type(self.wrapped).__name__
        self._inputs = self.wrapped.__haystack_input__._sockets_dict
        mandatory = [name for name, socket in self._inputs.items() if socket.is_mandatory]
        if mandatory != ["messages"] or "replies" not in self.wrapped.__haystack_output__._sockets_dict:
            raise InputError(
                f"component: {self._name} takes {', '.join(self._inputs)}; expected a chat generator, which "
                "requires nothing but messages and returns replies."
            )
        self.component = describe(self.wrapped)
        refuse_secrets(self.component["init_parameters"], f"component {self._name}")
        self._template = load_prompt(self.prompt)
        self._fallback: Any = None
        if self.fallback is not None:
            self._fallback = make(
                self.fallback,
                "fallback",
                STATIONS[self.station],
            )
            self.inner = [self._fallback]
            self.fallback = describe(self._fallback)
        if hasattr(self.wrapped, "close"):
            # Close the client's connections with the station rather than at garbage collection.
            weakref.finalize(self, self.wrapped.close).atexit = False
        model = json.dumps(self.component, sort_keys=True, default=str)
        path = cache_folder() / "replies.sqlite" if self.cache_replies else None
        self._replies = Cache(
            _encoded(model), _MAX_REPLIES_IN_MEMORY, path, _MAX_REPLIES_IN_FILE, "replies are kept in memory"
        )

    def warm_up(self) -> None:
        """:raises InputError: if the generator cannot be warmed up, as without a key in the environment."""
        super().warm_up()
        try:
            getattr(self.wrapped, "warm_up", lambda: None)()
        except Exception as error:
            raise InputError(f"{self._name} cannot be warmed up: {type(error).__name__}: {error}") from error

    def identity(self) -> Mapping[str, str]:
        return {**super().identity(), "prompt": self._template.digest}

    def _asked(
        self, requests: Mapping[int, Sequence[ChatMessage]], on_text: Callable[[str], None] | None = None
    ) -> dict[int, Reply]:
        """Return the replies to requests, ``concurrency`` of them at a time. Equal ones are sent once.

        :param requests: number of a turn -> messages.
        :param on_text: called with each new part of the reply to a single prompt, which is then streamed.
        """
        keys = {index: json.dumps([message.text for message in messages]) for index, messages in requests.items()}
        prompts = {keys[index]: messages for index, messages in requests.items()}
        pool = ThreadPoolExecutor(self.concurrency, "llm")
        try:
            futures = {
                prompt: pool.submit(self._reply, prompt, messages, on_text) for prompt, messages in prompts.items()
            }
            replies = {prompt: future.result() for prompt, future in futures.items()}
        except BaseException as error:
            # After a signal, do not wait for a server that may never answer.
            pool.shutdown(wait=isinstance(error, Exception | RunError), cancel_futures=True)
            raise
        pool.shutdown()
        return {index: replies[key] for index, key in keys.items()}

    def _reply(
        self, prompt: str, messages: Sequence[ChatMessage], on_text: Callable[[str], None] | None = None
    ) -> Reply:
        """Return the reply to one prompt. A missing reply counts as an empty one; empty replies are not cached."""
        key = self._replies.key(_encoded(prompt))
        cached = self._replies.read([key]).get(key)
        if cached:
            return Reply(cached.decode("utf-8", "surrogatepass"))
        try:
            sockets = {name: value for name, value in _streaming(on_text).items() if name in self._inputs}
            replies = self.wrapped.run(messages=list(messages), **sockets)["replies"]
            message = replies[0] if replies else ChatMessage.from_assistant("")
            text = message.text or ""
        except Exception as error:
            return Reply(doubt=self._doubt(error))
        if replies and text:
            self._replies.write({key: _encoded(text)})
        return Reply(text, usage=_usage(message))

    def _doubt(self, error: Exception) -> str:
        """Return the reason why this prompt has no reply. It does not quote the server, which may quote the key.

        :raises InputError: if the server rejects every prompt.
        :raises StoreUnavailable: if the request should be retried.
        """
        # Clients report a timeout as a failed connection, but a working server may be slow at one request.
        if "Timeout" in type(error).__name__:
            return TIMEOUT
        if not _OUTAGES.isdisjoint(base.__name__ for base in type(error).__mro__):
            if self._fallback:
                return AWAY
            raise StoreUnavailable(
                f"{self._name} does not reach its server: {type(error).__name__}: {error}"
            ) from error
        status = getattr(error, "status_code", None)
        if status in _REFUSAL_STATUSES:
            if self._fallback:
                return f"the server answers {status}; check its key, the model's name and the address"
            raise InputError(
                f"{self._name}: the server answers {status} to every request. Check its key in the environment, the "
                "model's name and the server's address."
            ) from None
        if status in _OUTAGE_STATUSES:
            if self._fallback:
                return f"the server answers {status}"
            raise StoreUnavailable(f"{self._name}: the server answers {status}.") from None
        log.debug("%s: the reply is malformed", self._name, exc_info=error)
        return f"server error {status}" if status else UNREADABLE


def _streaming(on_text: Callable[[str], None] | None) -> dict[str, Any]:
    """Return the sockets of a generator that stream its reply, with the tokens used at the end."""
    if on_text is None:
        return {}
    options = {"stream_options": {"include_usage": True}}
    return {"streaming_callback": lambda chunk: on_text(chunk.content), "generation_kwargs": options}


def _usage(message: ChatMessage) -> tuple[int, ...]:
    reported = message.meta.get("usage") or {}
    counts = tuple(reported.get(name) or 0 for name in ("prompt_tokens", "completion_tokens"))
    return counts if any(counts) else ()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
