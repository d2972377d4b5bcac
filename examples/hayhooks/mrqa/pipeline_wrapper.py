"""MRQA's reading in hayhooks: POST /mrqa/run with {"context": ..., "qas": [{"qid": ..., "question": ...}]}."""

from hayhooks import BasePipelineWrapper

import convqa
from convqa.server.mrqa import answer_context


class PipelineWrapper(BasePipelineWrapper):
    def setup(self) -> None:
        self.qa = convqa.load("mrqa")

    def run_api(self, context: str, qas: list[dict]) -> dict[str, str]:
        """Answers by question id, "" where there is none."""
        return answer_context(self.qa, {"context": context, "qas": qas})
