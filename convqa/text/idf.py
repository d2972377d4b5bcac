"""How rare a word is, from a small shipped table: so that rewrites and answers do not depend on the collection.

English: document frequencies in the lead paragraphs of 10,033 Wikipedia articles (CC BY-SA 4.0, see NOTICE), made by
``python benchmarks/idf_table.py``. Words of three leads or fewer have the ceiling, and are left out of the table.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

CEILING = 8.0
"""The idf of a word that is not in the table, and of every word of a language without a table."""

_FOLDER = Path(__file__).parent


def idf(word: str, language: str = "en") -> float:
    """ln(N / df) of a lower-case word, at most ``CEILING``.

    >>> idf("the") < 0.2 < 4 < idf("opera") < idf("zeppelin") <= CEILING
    True
    """
    return table(language).get(word, CEILING)


@cache
def table(language: str) -> Mapping[str, float]:
    """Word -> idf, empty for a language without a table. Read at first need (about 20 ms)."""
    path = _FOLDER / f"idf-{language}.tsv.gz"
    if not language.isalpha() or not path.is_file():
        return {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        count = int(next(lines).split("\t")[1])
        rows = (line.rstrip("\n").split("\t") for line in lines)
        return {word: min(CEILING, math.log(count / int(frequency))) for word, frequency in rows}
