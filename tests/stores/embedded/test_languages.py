"""A collection in Japanese: what is said where its analyzer is missing or another."""

from __future__ import annotations

import json
import sys

import pytest

from convqa.domain import Passage, Query
from convqa.errors import InputError
from convqa.stores import create_store, open_store
from convqa.stores.base import SearchParams
from convqa.text.analysis import analyzer

PASSAGES = [Passage("tower", "東京タワーは１９５８年に完成した。", "東京タワー")]


@pytest.fixture
def folder(tmp_path):
    with create_store(str(tmp_path / "c"), "ja") as made:
        made.add(PASSAGES)
    return tmp_path / "c"


def test_the_analyzer_is_recorded_and_another_refused(folder):
    assert open_store(str(folder)).info().analyzer == analyzer("ja").name
    [manifest] = [path for path in folder.iterdir() if path.suffix == ".json" and "analyzer" in path.read_text()]
    record = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**record, "analyzer": "convqa-ja-2-sudachi-20200101"}))
    with pytest.raises(InputError, match=r"convqa-ja-2-sudachi-20200101.*--replace"):
        open_store(str(folder)).search([Query("東京")], 3, SearchParams())


def test_without_the_extra_it_is_named(folder, monkeypatch):
    analyzer.cache_clear()
    monkeypatch.setitem(sys.modules, "sudachipy", None)
    with pytest.raises(InputError, match=r"pip install 'convqa\[ja\]'"), create_store(str(folder / "new"), "ja"):
        pass
    with pytest.raises(InputError, match=r"pip install 'convqa\[ja\]'"):
        open_store(str(folder)).search([Query("東京")], 3, SearchParams())
