"""How good a run is: the official measures of SCAI-QReCC-21, with what stands beside them, per turn and by group."""

from __future__ import annotations

from convqa.evaluation.qrecc import AnswerScorer, evaluate
from convqa.evaluation.report import prototext, render, write_prototext, write_turns
from convqa.evaluation.result import Evaluation, Scores, Summary
from convqa.evaluation.trec import write_trec

__all__ = [
    "AnswerScorer",
    "Evaluation",
    "Scores",
    "Summary",
    "evaluate",
    "prototext",
    "render",
    "write_prototext",
    "write_trec",
    "write_turns",
]
