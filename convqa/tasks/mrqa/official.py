"""evaluation.json, in the format of the official script."""

from __future__ import annotations

import json
from collections.abc import Mapping


def text(means: Mapping[str, float]) -> str:
    """Format the script's line; for several data sets, with keys as in the published result files.

    >>> text({"EM": 50.0, "F1": 62.5})
    '{"exact_match": 50.0, "f1": 62.5}\\n'
    >>> text({"SQuAD F1": 62.5, "SQuAD EM": 50.0})
    '{"SQuAD_em": 50.0, "SQuAD_f1": 62.5}\\n'
    """
    names = {"EM": "exact_match", "F1": "f1"}
    line = {names.get(name) or "_".join((name[:-3], name[-2:].lower())): mean for name, mean in means.items()}
    return json.dumps(dict(sorted(line.items())), ensure_ascii=False) + "\n"
