"""A pipeline of convqa in hayhooks: POST /talk/run, and a model of its chat completions.

pip install convqa hayhooks
CONVQA_COLLECTION=my-collection hayhooks run --pipelines-dir examples/hayhooks
"""

import os
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise

from hayhooks import BasePipelineWrapper
from hayhooks.open_webui import OpenWebUIEvent, create_source_event

import convqa
from convqa.domain import Conversation, Response, Turn, TurnId
from convqa.exports import replies
from convqa.server import chat_text


class PipelineWrapper(BasePipelineWrapper):
    def setup(self) -> None:
        self.qa = convqa.load("talk", collection=os.environ["CONVQA_COLLECTION"])

    def run_api(self, question: str, history: list[dict[str, str]] | None = None) -> dict:
        """Answer a question from the collection. Earlier exchanges are {"question": ..., "answer": ...}."""
        said = [chat_text.exchange(one["question"], one.get("answer", "")) for one in history or []]
        return asdict(replies.turn(self._answer(question, said), question, "talk"))

    def run_chat_completion(
        self,
        model: str,  # noqa: ARG002 - hayhooks' signature
        messages: list[dict],
        body: dict,  # noqa: ARG002
    ) -> Iterator[str | OpenWebUIEvent]:
        """Sentences with their marks; Open WebUI shows the events as its own sources."""
        said = []
        for before, after in pairwise(messages):
            if before["role"] == "user" and after["role"] == "assistant":
                said.append(chat_text.exchange(before["content"], after["content"]))
        response = self._answer(messages[-1]["content"], said)
        for citation in replies.citations(response):
            yield create_source_event(_source(citation))
        yield from chat_text.pieces(response, "en")

    def _answer(self, question: str, said: list) -> Response:
        turn = Turn(TurnId("hayhooks", len(said) + 1), question, tuple(said))
        return next(iter(self.qa.drive([Conversation("hayhooks", (turn,))], history="gold" if said else "own")))


def _source(citation: replies.CitationReply) -> dict:
    """A citation as Open WebUI takes it."""
    name = f"[{citation.number}] {citation.title or citation.passage}"
    return {
        "source": {"name": name, "id": citation.passage},
        "document": [citation.quote],
        "metadata": [{"source": citation.url or citation.passage, "name": name}],
    }
