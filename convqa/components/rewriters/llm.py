"""Any of Haystack's chat generators, asked for the self-contained question: a hosted model or a server of your own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Annotated, Any, NamedTuple

from haystack import component as haystack_component
from haystack.core.serialization import component_to_dict
from haystack.dataclasses import ChatMessage
from pydantic import ConfigDict, Field, validate_call

from convqa.components.base import Rewriter
from convqa.components.haystack import Wrapper
from convqa.components.rewriting.checks import from_json
from convqa.components.rewriting.prompts import chat
from convqa.components.rewriting.queries import Search, settled, unchanged
from convqa.components.rewriting.replies import Replies
from convqa.components.rewriting.said import said_before
from convqa.domain import Rewrite, Turn, open_question
from convqa.errors import InputError, StoreUnavailable
from convqa.files import mend
from convqa.places import cache_folder

_REFUSED = frozenset([401, 403, 404])
"""Wrong key, no permission, no such model or path: nothing that another request could change."""

_AWAY = frozenset([429, 502, 503, 504])
"""Too much asked, or nobody behind the gateway: worth waiting for."""

_PATIENCE = 8
"""Requests of one wave that may all run out of time before the server counts as away."""


class _Reply(NamedTuple):
    text: str = ""
    doubt: str = ""


@haystack_component
class Llm(Wrapper, Rewriter):
    """Ask a language model behind a server to rewrite the question.

    The history is quoted in one message of the user, with three examples; the reply must be ``{"question": "..."}``.
    Where a request runs out of time or the server fails at it, where the reply has another form, or where the question
    in it fails the checks of ``convqa.components.rewriting.checks``, the turn keeps its question, and the reason is
    counted in the run's summary. A server that is away, or asks to wait (429, 502, 503, 504), is waited for as a store
    is. Time limits, retries and sampling are the component's own parameters (``timeout``, ``max_retries``,
    ``generation_kwargs``).

    :param component: takes ``messages`` and gives ``replies``; its key stands in the environment, never in a pipeline.
    :param search: "terms" = new words of the text are weighted terms of the question; "text" = the text is a second
        query.
    :param weight: what a term, or the second query, counts, where the question counts 1.
    :param rewrites: show earlier questions as they were rewritten, where they were.
    :param concurrency: requests at the same time; 1 for a component that does not bear threads.
    :param keep: keep replies on disk, in the cache folder, for later runs too.
    """

    @validate_call(config=ConfigDict(strict=True))
    def __init__(
        self,
        component: Any,
        search: Search = "terms",
        weight: Annotated[float, Field(gt=0, le=10)] = 0.5,
        rewrites: bool = False,
        concurrency: Annotated[int, Field(ge=1, le=64)] = 4,
        keep: bool = False,
    ) -> None:
        self._wrap(component, ["messages"], [], "replies")
        self.search = search
        self.weight = weight
        self.rewrites = rewrites
        self.concurrency = concurrency
        self.keep = keep
        self._name = type(component).__name__
        model = json.dumps(component_to_dict(component, "component"), sort_keys=True, default=str)
        self._replies = Replies(model, cache_folder() / "replies.sqlite" if keep else None)

    def rewrite_batch(self, turns: Sequence[Turn]) -> Sequence[Rewrite]:
        saids = [said_before(turn, self.rewrites) for turn in turns]
        questions = [open_question(turn) for turn in turns]
        prompts = [
            chat(said, question) if said and question.strip() else ""
            for said, question in zip(saids, questions, strict=True)
        ]
        replies = self._all(dict.fromkeys(prompt for prompt in prompts if prompt))
        return [
            settled(*replies[prompt], question, said, turn.language, self.search, self.weight, "llm")
            if prompt
            else unchanged(question)
            for turn, said, question, prompt in zip(turns, saids, questions, prompts, strict=True)
        ]

    def _all(self, prompts: Mapping[str, None]) -> dict[str, _Reply]:
        """The replies to prompts, ``concurrency`` of them asked for at the same time."""
        replies: dict[str, _Reply] = {}
        if not prompts:
            return replies
        pool = ThreadPoolExecutor(self.concurrency, "llm")
        try:
            asked = {pool.submit(self._one, prompt): prompt for prompt in prompts}
            for done in as_completed(asked):
                replies[asked[done]] = done.result()
                if len(replies) >= _PATIENCE and all(reply.doubt == "timeout" for reply in replies.values()):
                    raise StoreUnavailable(f"{self._name}: {len(replies)} requests ran out of time, and none did not.")
        finally:
            pool.shutdown(cancel_futures=True)
        return replies

    def _one(self, prompt: str) -> _Reply:
        written = self._replies.get(prompt)
        if written is None:
            try:
                written = self._written(prompt)
            except StoreUnavailable as error:
                # Clients call a reply that takes too long a failed connection; a server that works may be slow at one.
                if "Timeout" in type(error.__cause__).__name__:
                    return _Reply(doubt="timeout")
                raise
            except Exception as error:
                return _Reply(doubt=self._doubt(error))
            self._replies.put(prompt, written)
        question = from_json(written)
        return _Reply(doubt="unreadable") if question is None else _Reply(question)

    def _written(self, prompt: str) -> str:
        # Half characters cannot be sent.
        replies = self._ask(messages=[ChatMessage.from_user(mend(prompt)[0])])
        # A reply without text (a call of a tool, a refusal) is read as any other that has not the form.
        return (replies[0].text or "") if replies else ""

    def _doubt(self, error: Exception) -> str:
        """Why there is no reply, where that concerns this prompt only. What the server says is not repeated: it may
        quote the key.

        :raises InputError: if no prompt can be answered.
        :raises StoreUnavailable: if it is worth waiting.
        """
        status = getattr(error, "status_code", None)
        if status in _REFUSED:
            raise InputError(
                f"{self._name}: the server answers {status} to every request. Check its key in the environment, the "
                "model's name and the server's address."
            ) from None
        if status in _AWAY:
            raise StoreUnavailable(f"{self._name}: the server answers {status}.") from None
        return f"server error {status}" if status else f"failed ({type(error).__name__})"
