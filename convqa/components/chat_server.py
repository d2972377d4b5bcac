"""The chat generator behind ``--llm``: Haystack's, for servers that want no key as well as for those that do."""

from __future__ import annotations

from haystack import component
from haystack.components.generators.chat.openai import OpenAIChatGenerator
from haystack.utils import Secret


@component
class ChatServer(OpenAIChatGenerator):
    """Ask a server of OpenAI's API. Where ``api_key`` is None, or none of its variables is set, no key is sent.

    OpenAI's client would take the key in ``OPENAI_API_KEY`` instead, and send it to whatever server this is.
    """

    def warm_up(self) -> None:
        if self.client is not None:
            return
        named = self.api_key
        if named is None or named.resolve_value() is None:
            self.api_key = Secret.from_token("none")
        OpenAIChatGenerator.warm_up(self)  # the decorator makes another class, which super() does not know
        self.api_key = named
