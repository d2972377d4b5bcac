"""Which key the generator behind ``--llm`` sends, and where to."""

from __future__ import annotations

import pytest
from haystack.components.generators.chat.openai import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret

from convqa.components.chat_server import ChatServer
from convqa.components.members import describe, make_component


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "AZURE_OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sk-of-somebody-else")
    monkeypatch.setenv("MY_KEY", "sk-mine")


@pytest.mark.parametrize(
    ("secret", "sent"),
    [
        (None, "Bearer none"),
        (Secret.from_env_var("NOT_SET", strict=False), "Bearer none"),
        (Secret.from_env_var("MY_KEY", strict=False), "Bearer sk-mine"),
        (Secret.from_env_var("OPENAI_API_KEY"), "Bearer sk-of-somebody-else"),
    ],
)
def test_no_key_is_sent_but_the_one_that_is_named(openai_server, secret, sent):
    server = openai_server(lambda prompt, number: "Hello.")
    made = ChatServer(secret, "m", api_base_url=server.url, max_retries=0)
    before = describe(made)
    again = make_component(before, "component")
    for chat in (made, again):
        chat.warm_up()
        assert chat.run([ChatMessage.from_user("Hi")])["replies"][0].text == "Hello."
        assert describe(chat) == before
        chat.close()
    assert server.keys == [sent] * 2 and isinstance(again, OpenAIChatGenerator)


def test_a_key_that_must_be_set_is_asked_for():
    with pytest.raises(ValueError, match="NOT_SET"):
        ChatServer(Secret.from_env_var("NOT_SET"), "m", api_base_url="http://127.0.0.1:9/v1").warm_up()
