"""Evaluate a run: the measures of its task with intervals, per turn and by group."""

from __future__ import annotations

from convqa.evaluation.compute import evaluate
from convqa.evaluation.report import (
    official_text,
    render,
    write_official,
    write_trec,
    write_turns,
)
from convqa.evaluation.result import Evaluation

__all__ = ["Evaluation", "evaluate", "official_text", "render", "write_official", "write_trec", "write_turns"]
