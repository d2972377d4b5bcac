"""Chat generators of Haystack in stations: those that do not fit, their secrets, and failures to start."""

from __future__ import annotations

import pytest
from haystack import Document, component
from haystack.components.rankers import LostInTheMiddleRanker
from haystack.dataclasses import ChatMessage

from convqa.components.rewriters.llm import LlmRewriter
from convqa.errors import InputError


@pytest.mark.parametrize(
    ("wrapped", "message"),
    [
        ({"init_parameters": {}}, r"component: expected a component of Haystack, .*, got \{'init_"),
        (Document(id="d"), "expected a component of Haystack"),
        (LostInTheMiddleRanker(), "LostInTheMiddleRanker takes documents.*expected a chat generator"),
    ],
)
def test_a_component_that_does_not_fit_is_refused_with_its_sockets(wrapped, message):
    with pytest.raises(InputError, match=message):
        LlmRewriter(wrapped)


@component
class Remote:
    """Wants to be told where and with what."""

    def __init__(self, hosts: str = "", api_key: object = None, basic_auth: object = None) -> None:
        self.hosts, self.api_key, self.basic_auth = hosts, api_key, basic_auth

    def warm_up(self) -> None:
        raise OSError("no model in this folder")

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]) -> dict:
        return {"replies": []}


@pytest.mark.parametrize(
    "parameters", [{"api_key": "s3cret"}, {"basic_auth": ["me", "s3cret"]}, {"hosts": "https://me:s3cret@host:9200"}]
)
def test_secrets_in_plain_text_are_refused(parameters):
    with pytest.raises(InputError, match=f"component Remote\\.{next(iter(parameters))}: secrets are not") as caught:
        LlmRewriter(Remote(**parameters))
    assert "s3cret" not in str(caught.value)
    LlmRewriter(Remote("https://host:9200", {"type": "env_var", "env_vars": ["MY_KEY"], "strict": True}))


def test_a_component_that_cannot_be_made_ready_is_named():
    with pytest.raises(InputError, match="Remote cannot be warmed up: OSError: no model in this folder"):
        LlmRewriter(Remote()).warm_up()
