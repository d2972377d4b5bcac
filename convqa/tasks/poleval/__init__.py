"""PolEval 2022, passage retrieval: ten passages for each question (https://github.com/poleval/2022-passage-retrieval)."""

from __future__ import annotations

from convqa.tasks.poleval.run import Run
from convqa.tasks.poleval.task import PolEval
from convqa.tasks.poleval.truth import Gold, GoldTurn

__all__ = ["Gold", "GoldTurn", "PolEval", "Run"]
