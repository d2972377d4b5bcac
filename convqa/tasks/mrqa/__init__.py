"""MRQA 2019: reading comprehension, and every data set in SQuAD's format (https://github.com/mrqa/MRQA-Shared-Task-2019)."""

from __future__ import annotations

from convqa.tasks.mrqa.run import Run
from convqa.tasks.mrqa.score import Options
from convqa.tasks.mrqa.task import MRQA
from convqa.tasks.mrqa.truth import Gold, GoldTurn

__all__ = ["MRQA", "Gold", "GoldTurn", "Options", "Run"]
