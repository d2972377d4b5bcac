"""The output of the official scripts as a line of JSON: vzhong/e3's, and MUDERN's for the open-retrieval form."""

from __future__ import annotations

import json
from collections.abc import Mapping

from convqa.metrics.bleu import ORDER
from convqa.tasks.sharc.answers import CLASSES

_ORDERS = range(1, ORDER + 1)
NAMES = {
    "Micro accuracy": ("micro_accuracy", 4),
    "Macro accuracy": ("macro_accuracy", 4),
    **{f"BLEU-{n}": (f"bleu_{n}", 4) for n in _ORDERS},
    "Micro accuracy %": ("micro_accuracy", 2),
    "Macro accuracy %": ("macro_accuracy", 2),
    **{f"Recall {name} %": (f"classwise_accuracy_{name}", 2) for name in CLASSES["open"]},
    **{f"P_BLEU-{n}": (f"precision_bleu_{n}", 2) for n in _ORDERS},
    **{f"R_BLEU-{n}": (f"recall_bleu_{n}", 2) for n in _ORDERS},
    **{f"F1_BLEU-{n}": (f"fscore_bleu_{n}", 2) for n in _ORDERS},
}
"""Measure -> (the script's key, its number of digits). Names with % are of the open-retrieval form."""


def text(means: Mapping[str, float]) -> str:
    """Format one line, with keys in the scripts' order.

    >>> text({"Macro accuracy": 0.75, "Micro accuracy": 1 / 3})
    '{"micro_accuracy": 0.3333, "macro_accuracy": 0.75}\\n'
    """
    line = {key: round(means[name], digits) for name, (key, digits) in NAMES.items() if name in means}
    return json.dumps(line) + "\n"
