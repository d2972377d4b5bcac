"""Questions for the benchmarks of extractive reading, of sets that no shipped reader was trained on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from convqa.metrics.squad import exact_match, f1
from convqa.tasks.mrqa.formats import Context, Question
from convqa.tasks.mrqa.input import read_contexts

SETS = {
    "SQuADShifts Amazon": "squad-format/squadshifts/amazon-half.json",
    "NewsQA sample": "mrqa/NewsQA_sample.jsonl",
    "xquad.de": "squad-format/xquad.de.json",
    "xquad.zh": "squad-format/xquad.zh.json",
    "jsquad (ja)": "squad-format/jsquad-valid-v1.3.json",
    "poquad (pl)": "squad-format/poquad-sample.json",
}


def reported(data: Path) -> dict[str, list[Context]]:
    """Return the contexts by set."""
    return {name: list(read_contexts(data / file)) for name, file in SETS.items()}


def asked(contexts: Sequence[Context]) -> list[tuple[Question, Context]]:
    """Yield every question with its context."""
    return [(question, context) for context in contexts for question in context.questions]


def best(measure: Callable[[str, str], float], question: Question, said: str) -> float:
    """Return a SQuAD measure, the maximum over the accepted answers; "" is right for a question without an answer."""
    return max(measure(answer, said) for answer in question.answers or ("",))


def em_and_f1(questions: Sequence[Question], said: Sequence[str]) -> tuple[list[float], list[float]]:
    """Return EM and F1 in percent for each question."""
    rows = list(zip(questions, said, strict=True))
    return [100 * best(exact_match, *row) for row in rows], [100 * best(f1, *row) for row in rows]
