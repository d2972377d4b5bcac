"""ShARC (Saeidi et al., EMNLP 2018; https://sharc-data.github.io/): rules that answer Yes or No, or need to ask back.

Also its open-retrieval form, in which the rule text is found first (Gao et al., 2021: OR-ShARC).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from convqa.domain import Conversation, Passage, Response, TurnId
from convqa.tasks.base import Problem, Task
from convqa.tasks.scores import Judged, Options, Scores
from convqa.tasks.sharc import check, official, run, score, truth
from convqa.tasks.sharc.input import conversation, looks_like_input, passages, read_records, source
from convqa.tasks.sharc.run import Run
from convqa.tasks.sharc.truth import Gold


class ShARC(Task):
    """A file of utterances, or a folder with one, in; predictions.json out; the same to score it."""

    name = "sharc"
    run_file = run.FILE
    truth_file = "utterances in ShARC's format"
    official_file = official.FILE
    default_pipeline = "sharc"

    def matches(self, path: Path) -> bool:
        return looks_like_input(path)

    has_truth = matches

    def has_run(self, path: Path) -> bool:
        """By content, too: MRQA's runs have the same name."""
        return super().has_run(path) and run.looks_like_run(path)

    def pipeline_for(self, path: Path) -> str:
        """Where the input brings no rule texts with its utterances, they are to be found."""
        return self.default_pipeline if source(path).form == "official" else "sharc-open"

    def read(self, path: Path) -> Iterator[Conversation]:
        """Each utterance is a conversation of one turn; its answer and evidence stay behind."""
        for placed in read_records(source(path)):
            yield conversation(placed.record)

    def passages(self, path: Path) -> Iterable[Passage] | None:
        return passages(source(path))

    def gold(self, path: Path) -> Gold:
        return truth.read(path)

    def write(
        self,
        responses: Iterable[Response],
        directory: Path,
        stages: frozenset[str],
        questions: Iterable[str] | None = None,  # noqa: ARG002
    ) -> Path:
        return run.write(responses, directory, stages)

    def read_run(self, path: Path) -> Run:
        return run.read(path)

    def check(self, run_dir: Path, input_path: Path) -> list[Problem]:
        return check.check(run_dir, input_path)

    def score(self, gold: Gold, run: Run, options: Options) -> list[Scores]:  # noqa: ARG002
        return score.score(gold, run)

    def official_text(self, means: Mapping[str, float]) -> str:
        return official.text(means)

    def key(self, id: TurnId) -> dict[str, Any]:
        return {"utterance_id": id.conversation}

    def judged(self, gold: Gold, run: Run) -> Judged | None:
        return score.judged(gold, run)
