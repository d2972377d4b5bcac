"""ShARC (Saeidi et al., EMNLP 2018; https://sharc-data.github.io/): rules that answer Yes or No, or need to ask back.

Also its open-retrieval form, in which the rule text is found first (Gao et al., 2021: OR-ShARC).
"""

from __future__ import annotations

from convqa.tasks.sharc.run import Run
from convqa.tasks.sharc.task import ShARC
from convqa.tasks.sharc.truth import Gold, GoldTurn

__all__ = ["Gold", "GoldTurn", "Run", "ShARC"]
