"""JWHR, the Japanese Wikipedia Human Retrieval dataset: questions, and answers whose every sentence cites its sources.

https://huggingface.co/datasets/baobab-trees/wikipedia-human-retrieval-ja (Yusuke Oda; Baobab, Inc.; Apache-2.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from convqa.domain import Conversation, Passage, Response, Turn, TurnId
from convqa.tasks.base import Problem, Task
from convqa.tasks.jwhr import check, run, score, truth
from convqa.tasks.jwhr.input import looks_like_entries, read_entries
from convqa.tasks.jwhr.passages import passages
from convqa.tasks.jwhr.run import Run
from convqa.tasks.jwhr.schema import LANGUAGE
from convqa.tasks.jwhr.score import Options
from convqa.tasks.jwhr.truth import Gold
from convqa.tasks.scores import Scores


class JWHR(Task):
    """A file of entries, or a folder of such files, in; run.jsonl, of the same form, out; the same to score it."""

    name = "jwhr"
    run_file = run.FILE
    truth_file = "entries in JWHR's format"
    official_file = score.OFFICIAL_FILE
    default_pipeline = "jwhr"
    language = LANGUAGE
    options = Options

    def matches(self, path: Path) -> bool:
        return looks_like_entries(path)

    has_truth = matches

    def read(self, path: Path) -> Iterator[Conversation]:
        """Each entry is a conversation of one turn; its answer and references stay behind."""
        for placed in read_entries(path):
            id = placed.entry.id
            yield Conversation(id, (Turn(TurnId(id, 1), placed.entry.question, language=self.language),))

    def passages(self, path: Path) -> Iterable[Passage]:
        return passages(placed.entry for placed in read_entries(path, quiet=True))

    def gold(self, path: Path) -> Gold:
        return truth.read(path)

    def write(
        self,
        responses: Iterable[Response],
        directory: Path,
        stages: frozenset[str],
        questions: Iterable[str] | None = None,
    ) -> Path:
        return run.write(responses, directory, stages, questions)

    def read_run(self, path: Path) -> Run:
        return run.read(path)

    def check(self, run_dir: Path, input_path: Path) -> list[Problem]:
        return check.check(run_dir, input_path)

    def score(self, gold: Gold, run: Run, options: Options) -> list[Scores]:
        return score.score(gold, run, options)

    def official_text(self, means: Mapping[str, float]) -> str:
        return score.official_text(means)

    def key(self, id: TurnId) -> dict[str, Any]:
        return {"id": id.conversation}
