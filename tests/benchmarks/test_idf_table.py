"""The table of document frequencies: what is kept, and that it is the shipped one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import convqa.text.idf


def test_frequencies_count_texts_not_occurrences():
    from idf_table import frequencies

    assert frequencies(["A cat, a CAT's cat.", "The cat"], "en") == (2, {"a": 1, "cat": 2, "the": 1})


def test_only_words_below_the_ceiling_are_written(tmp_path):
    from idf_table import write

    path = tmp_path / "idf.tsv.gz"
    assert write(10_000, {"opera": 40, "rare": 3, "city": 900}, path) == 2
    assert gzip.decompress(path.read_bytes()).decode() == "#\t10000\ncity\t900\nopera\t40\n"


def test_the_same_input_gives_the_shipped_table(data, tmp_path):
    from idf_table import frequencies, write

    articles = json.loads((data / "wiki" / "summaries-en.json").read_bytes()).values()
    number, counted = frequencies((f"{article['title']}\n{article['extract']}" for article in articles), "en")
    write(number, counted, tmp_path / "made.gz")
    shipped = Path(convqa.text.idf.__file__).parent / "idf-en.tsv.gz"
    assert gzip.decompress((tmp_path / "made.gz").read_bytes()) == gzip.decompress(shipped.read_bytes())
