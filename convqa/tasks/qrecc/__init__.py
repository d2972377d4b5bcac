"""SCAI-QReCC-21 and -22: open-domain conversational question answering (https://github.com/scai-conf/SCAI-QReCC-21)."""

from __future__ import annotations

from convqa.tasks.qrecc.run import Run
from convqa.tasks.qrecc.score import Options
from convqa.tasks.qrecc.task import QReCC
from convqa.tasks.qrecc.truth import Gold, GoldTurn

__all__ = ["Gold", "GoldTurn", "Options", "QReCC", "Run"]
