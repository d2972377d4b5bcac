"""Inverse document frequencies from a shipped table, so that rewrites and answers do not depend on the collection.

The English table counts words in the lead paragraphs of 10,033 Wikipedia articles (CC BY-SA 4.0, see NOTICE); it is
built by ``python benchmarks/idf_table.py``. Words in three leads or fewer are left out and have the maximum idf.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

CEILING = 8.0
"""The idf of words missing from the table, and of all words in a language without a table."""

_FOLDER = Path(__file__).parent


def idf(word: str, language: str = "en") -> float:
    """Return ln(N / df) of a lower-case word, at most ``CEILING``.

    >>> idf("the") < 0.2 < 4 < idf("opera") < idf("zeppelin") <= CEILING
    True
    """
    return table(language).get(word, CEILING)


@cache
def table(language: str) -> Mapping[str, float]:
    """Return the word -> idf table of a language, empty if it has none. The first call takes about 20 ms."""
    path = _FOLDER / f"idf-{language}.tsv.gz"
    if not language.isalpha() or not path.is_file():
        return {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        count = int(next(lines).split("\t")[1])
        idfs = {}
        for line in lines:
            word, frequency = line.rstrip("\n").split("\t")
            idfs[word] = min(CEILING, math.log(count / int(frequency)))
        return idfs
