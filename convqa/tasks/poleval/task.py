"""PolEval 2022, passage retrieval: ten passages for each question (https://github.com/poleval/2022-passage-retrieval)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from convqa.domain import Conversation, Passage, Response, Turn, TurnId
from convqa.tasks.base import Problem, Task
from convqa.tasks.poleval import check, input, passages, run, score, truth
from convqa.tasks.poleval.run import Run
from convqa.tasks.poleval.truth import Gold
from convqa.tasks.scores import Judged, Options, Scores


class PolEval(Task):
    """in.tsv or questions.jl, in a folder or as a file, in; out.tsv out; expected.tsv or pairs.tsv to score it."""

    name = "poleval"
    run_file = run.FILE
    truth_file = f"{input.EXPECTED} or pairs.tsv"
    official_file = score.OFFICIAL_FILE
    default_pipeline = "poleval"
    language = "pl"
    passages_file = "passages.jl (also .gz; where to put them: docs/poleval.md)"

    def matches(self, path: Path) -> bool:
        return input.holds_questions(path)

    def has_truth(self, path: Path) -> bool:
        return input.holds_truth(path)

    def read(self, path: Path) -> Iterator[Conversation]:
        """Each question is a conversation of one turn; where there are several sets, it is asked of its own only."""
        asked = input.read(path)
        for one in asked.items:
            kept = {"set": (one.set,)} if asked.of_several_sets else {}
            yield Conversation(one.id.conversation, (Turn(one.id, one.text, language=self.language, filter=kept),))

    def passages(self, path: Path) -> Iterable[Passage] | None:
        return passages.passages(input.read(path))

    def gold(self, path: Path) -> Gold:
        return truth.read(path)

    def write(
        self,
        responses: Iterable[Response],
        directory: Path,
        stages: frozenset[str],  # noqa: ARG002
        questions: Iterable[str] | None = None,  # noqa: ARG002
    ) -> Path:
        return run.write(responses, directory)

    def read_run(self, path: Path) -> Run:
        return run.read(path)

    def check(self, run_dir: Path, input_path: Path) -> list[Problem]:
        return check.check(run_dir, input_path)

    def score(self, gold: Gold, run: Run, options: Options) -> list[Scores]:  # noqa: ARG002
        return score.score(gold, run)

    def official_text(self, means: Mapping[str, float]) -> str:
        return score.official_text(means)

    def key(self, id: TurnId) -> dict[str, Any]:
        return {"id": id.conversation}

    def judged(self, gold: Gold, run: Run) -> Judged:
        return score.judged(gold, run)
