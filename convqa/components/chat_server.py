"""The chat generator of ``--llm``: Haystack's, extended to servers without a key."""

from __future__ import annotations

from haystack import component
from haystack.components.generators.chat.openai import OpenAIChatGenerator
from haystack.utils import Secret


@component
class ChatServer(OpenAIChatGenerator):
    """A client of a server with OpenAI's API. If ``api_key`` is None or its variables are unset, it sends no key.

    OpenAI's client would send the key in ``OPENAI_API_KEY`` instead, to any server.
    """

    def warm_up(self) -> None:
        if self.client is not None:
            return
        key = self.api_key
        if key is None or key.resolve_value() is None:
            self.api_key = Secret.from_token("none")
        OpenAIChatGenerator.warm_up(self)  # not super(), because the decorator replaces the class
        self.api_key = key
