"""ShARC (Saeidi et al., EMNLP 2018; https://sharc-data.github.io/): rules that answer Yes or No, or need to ask back.

Also its open-retrieval form, in which the rule text is found first (Gao et al., 2021: OR-ShARC).
"""

from convqa.tasks.sharc.task import ShARC

__all__ = ["ShARC"]
