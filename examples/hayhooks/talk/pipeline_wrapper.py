"""A pipeline of convqa in hayhooks: POST /talk/run, and a model of its chat completions.

pip install convqa hayhooks
CONVQA_COLLECTION=my-collection hayhooks run --pipelines-dir examples/hayhooks
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from hayhooks import BasePipelineWrapper
from hayhooks.open_webui import OpenWebUIEvent, create_source_event

import convqa
from convqa.domain import Conversation, Exchange, Response, Turn, TurnId
from convqa.exports import replies
from convqa.server import chat_text
from convqa.server.messages import Message, read, reply_to_errand


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
        asked = read([Message.model_validate(dict(message)) for message in messages])
        errand = reply_to_errand(asked, examples=[])
        if errand is not None:  # Open WebUI asks for titles and tags on its own
            yield errand
            return
        response = self._answer(asked.question, asked.history)
        for citation in chat_text.citations(response, asked.sources):
            yield create_source_event(_source(citation))
        yield from chat_text.pieces(response, self.qa.pipeline.language, asked.sources, asked.caveat)

    def _answer(self, question: str, history: Sequence[Exchange]) -> Response:
        turn = Turn(TurnId("hayhooks", len(history) + 1), question, tuple(history))
        return next(iter(self.qa.drive([Conversation("hayhooks", (turn,))], history="gold" if history else "own")))


def _source(citation: replies.CitationReply) -> dict:
    """A citation as Open WebUI takes it: mark [n] opens the n-th address, so no two citations share one."""
    name = citation.title or citation.passage
    return {
        "source": {"name": name, "id": citation.passage, "url": citation.url},
        "document": [citation.quote],
        "metadata": [{"source": f"{citation.url or citation.passage}#c{citation.number}", "name": name}],
    }
