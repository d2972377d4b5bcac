"""JWHR, the Japanese Wikipedia Human Retrieval dataset: questions, and answers whose every sentence cites its sources.

https://huggingface.co/datasets/baobab-trees/wikipedia-human-retrieval-ja (Yusuke Oda; Baobab, Inc.; Apache-2.0).
"""

from __future__ import annotations

from convqa.tasks.jwhr.run import Run
from convqa.tasks.jwhr.score import Options
from convqa.tasks.jwhr.task import JWHR
from convqa.tasks.jwhr.truth import Gold, GoldTurn

__all__ = ["JWHR", "Gold", "GoldTurn", "Options", "Run"]
