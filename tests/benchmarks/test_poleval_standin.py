from __future__ import annotations

import pytest

from convqa.domain import Passage, Query
from convqa.stores import create_store, open_store
from convqa.stores.base import SearchParams
from convqa.text.analysis import analyzer

PASSAGES = (
    Passage("1", "Źródła rzek leżą w górach.", "Rzeka"),
    Passage("2", "Rzeki płyną do morza, a morze jest słone.", "Morze"),
    Passage("3", "Góry są wysokie.", ""),
)


def test_analyses_are_scored_as_stores_do(tmp_path):
    import poleval_standin

    with create_store(str(tmp_path / "collection"), language="pl") as store:
        store.add(PASSAGES)
        store.commit()
    asked, cut = poleval_standin.Asked("Gdzie są źródła rzek?", "1"), analyzer("pl").content
    field = poleval_standin.Field(analyzer("pl").tokens(f"{one.title}\n{one.text}") for one in PASSAGES)
    scores = {id: score for id, score in zip("123", field.scores(cut(asked.text), 0.6, 0.55), strict=True) if score}
    found = open_store(str(tmp_path / "collection")).search(
        [Query(asked.text)], 10, SearchParams(0.6, 0.55, stopwords="long")
    )
    assert {hit.id: hit.score for hit in found[0].hits} == pytest.approx(scores)
    assert poleval_standin.scored(field, ["1", "2", "3"], [asked], cut, 0.6, 0.55) == [1.0]


def test_a_text_without_diacritics():
    import poleval_standin

    assert poleval_standin.bare("Świeża ŻÓŁĆ, Gödel") == "Swieza ZOLC, Godel"


def test_the_standin_is_split_by_article(data):
    import poleval_standin

    found = list(poleval_standin.articles(data))
    assert [len([a for a in found if a.half == half]) for half in poleval_standin.HALVES] == [241, 240]
    assert sum(len(article.passages) for article in found) == 962
    assert [sum(len(a.asked) for a in found if a.half == half) for half in poleval_standin.HALVES] == [951, 960]
    for article in found:
        assert {one.paragraph for one in article.asked} <= {passage.id for passage in article.passages}


def test_a_measure_that_grows_is_drawn_out():
    from engines import WIKI, ahead
    from synthetic import _ending

    columns = [{"index, s": 10.0, "index, passages/s": 5.0}, {"index, s": 30.0, "index, passages/s": 6.0}]
    assert [ahead(name, [0, WIKI // 2], columns) for name in columns[0]] == ["50.0", ""]
    assert [_ending(number) for number in (0, 1, 16, 17)] == ["", "xc", "xbc", "xcc"]
