"""What every store promises."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from convqa.domain import Passage, Query
from convqa.errors import InputError
from convqa.stores import create_store, exists
from convqa.stores.base import SearchParams, Store, WritableStore
from convqa.testing.samples import DEFAULT, PASSAGES, WEIRD_ID, ids, needs, reopen
from convqa.testing.vectors import VectorContract
from convqa.text.analysis import analyzer

HAND = [
    Passage("a", "the Roman wall"),
    Passage("b", "walls and bridges and walls of gates"),
    Passage("c", "tower " + " ".join(f"w{n}" for n in range(46))),
    Passage("d", "towers " * 104),
]
"""Of 2, 4, 47 and 104 tokens: 157 in all."""

JAPANESE = [
    Passage("tower", "東京タワーは１９５８年に完成した。", "東京タワー"),
    Passage("office", "東京特許許可局へ行なった調査の結果である。", "特許"),
    Passage("odd", "犬と👍。" + "、" * 60_000 + "猫"),
]


def bm25(
    tf: int, count: int, df: int, length: int, average: float = 157 / 4, k1: float = 0.82, b: float = 0.68
) -> float:
    """Return one token's part of a score."""
    idf = math.log(1 + (count - df + 0.5) / (df + 0.5))
    return idf * tf / (tf + k1 * (1 - b + b * length / average))


def scores(
    store: Store,
    query: Query,
    params: SearchParams = DEFAULT,
) -> dict[str, float]:
    return {hit.id: hit.score for hit in store.search([query], 10, params)[0].hits}


class ReadOnlyStoreContract:
    """What a store promises whose collections are made elsewhere. Its tests need a fixture ``store``.

    ::

        class TestArchive(ReadOnlyStoreContract):
            @pytest.fixture
            def store(self, tmp_path):
                return open_store(f"archive:{make_archive(PASSAGES, tmp_path)}")

    ``PASSAGES`` (``convqa.testing``) are the passages that it must hold.
    """

    def test_passages_are_attached_to_the_first_hits_only(self, store: Any) -> None:
        hits = store.search([Query("London river")], 10, DEFAULT, texts=1)[0].hits
        assert hits[0].passage is not None
        assert hits[0].passage.id == hits[0].id
        assert [hit.passage for hit in hits[1:]] == [None, None]

    def test_queries_are_answered_in_order_and_each_by_itself(self, store: Any) -> None:
        both = store.search([Query("Rome"), Query("zzz"), Query("Thames")], 10, DEFAULT)
        assert [[hit.id for hit in ranking.hits] for ranking in both] == [["p2"], [], ["p1"]]

    def test_a_query_without_known_words_finds_nothing(self, store: Any) -> None:
        for text in ("", "   ", "the of a", "zzzz", "\x00", "\ud800", "?!"):
            assert ids(store, text) == []

    def test_ids_and_texts_of_any_kind_come_back_as_they_were(self, store: Any) -> None:
        assert ids(store, "Käse") == [WEIRD_ID]
        assert ids(store, "京") == [WEIRD_ID]
        assert store.fetch([WEIRD_ID, "nobody", "p1", "\ud800"]) == [PASSAGES[4], None, PASSAGES[0], None]
        assert sorted(store.scan(), key=lambda passage: passage.id) == sorted(PASSAGES, key=lambda passage: passage.id)

    def test_long_stop_words_leave_queries_only(self, store: Any) -> None:
        assert ids(store, "through") == ["p1"]
        assert ids(store, "through", params=SearchParams(stopwords="long")) == []

    def test_parameters_that_the_index_has_are_never_refused(self, store: Any) -> None:
        info = store.info()
        store.check(SearchParams())
        store.check(SearchParams(k1=info.k1, b=info.b))

    def test_threads_see_what_one_thread_sees(self, store: Any) -> None:
        queries = [Query(text) for text in ("London", "Rome river", "bridges day")] * 10
        expected = store.search(queries, 5, DEFAULT)
        found = []
        threads = [threading.Thread(target=lambda: found.append(store.search(queries, 5, DEFAULT))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [expected] * 4


class StoreContract(ReadOnlyStoreContract, VectorContract):
    """What a store promises that convqa creates. Its tests need a fixture ``url``: where no collection is yet.

    ::

        class TestShelf(StoreContract):
            @pytest.fixture
            def url(self, tmp_path):
                return f"shelf:{tmp_path / 'collection'}"

    Facts about a capability that the store's ``info()`` does not declare (``filter``, ``vectors``) are skipped.
    """

    @pytest.fixture
    def store(self, url: str) -> Iterator[Any]:
        """A store of ``PASSAGES``."""
        with create_store(url, "en") as made:
            made.add(PASSAGES)
        store = reopen(url)
        yield store
        store.close()

    def test_is_a_store_and_says_what_it_holds(self, store: Any) -> None:
        info = store.info()
        assert isinstance(store, Store)
        assert (info.count, info.language, info.analyzer) == (6, "en", analyzer("en").name)
        assert len(info.checksum) == 32
        assert "write" not in info.capabilities or isinstance(store, WritableStore)

    def test_rankings_are_by_score_then_id_descending_with_float32_scores(self, store: Any) -> None:
        hits = store.search([Query("bridges of London")], 10, DEFAULT)[0].hits
        assert [hit.id for hit in hits] == ["p4", "p3", "p1"]
        assert hits[0].score == hits[1].score > hits[2].score > 0

    def test_scores_are_lucenes_bm25_computed_by_hand(self, url: str) -> None:
        with create_store(url, "en") as made:
            made.add(HAND)
        store = reopen(url)
        assert scores(store, Query("roman walls")) == {
            "a": pytest.approx(bm25(1, 4, 1, 2) + bm25(1, 4, 2, 2), rel=1e-6),
            "b": pytest.approx(bm25(2, 4, 2, 4), rel=1e-6),
        }
        # In Lucene's byte a length of 47 tokens is 46, and 104 is itself.
        assert scores(store, Query("", (("towers", 0.3),))) == {
            "c": pytest.approx(0.3 * bm25(1, 4, 2, 46), rel=1e-6),
            "d": pytest.approx(0.3 * bm25(104, 4, 2, 104), rel=1e-6),
        }
        assert scores(store, Query("tower tower")) == pytest.approx(
            {"c": 2 * bm25(1, 4, 2, 46), "d": 2 * bm25(104, 4, 2, 104)}, rel=1e-6
        )

    def test_ties_at_the_cut_go_to_the_highest_id(self, store: Any) -> None:
        assert ids(store, "bridges", k=1) == ["p4"]

    def test_a_question_of_100_000_characters_is_searched(self, store: Any, caplog: pytest.LogCaptureFixture) -> None:
        assert ids(store, "London " + " ".join(f"w{n}" for n in range(18_000)))[:1] == ["p4"]
        (warning,) = caplog.messages
        assert "18001" in warning and "1024" in warning

    def test_history_terms_count_with_their_weight(self, store: Any) -> None:
        light = store.search([Query("day", (("London", 0.1),))], 10, DEFAULT)[0]
        heavy = store.search([Query("day", (("London", 9.0),))], 10, DEFAULT)[0]
        assert light.hits[0].id == "p2"
        assert heavy.hits[0].id in {"p3", "p4", "p1"}
        once, twice = (store.search([Query(text)], 1, DEFAULT)[0].hits[0].score for text in ("Rome", "Rome Rome"))
        assert twice == pytest.approx(2 * once)

    def test_filters_ask_meta_fields_for_one_of_their_values(self, store: Any) -> None:
        needs(store, "filter")
        for accepted, expected in (
            ({"year": (2001,)}, ["p1", "p3"]),
            ({"year": (2001.0, 2003)}, ["p1", "p3", "p4"]),
            ({"year": (2001,), "kind": ("river", "city")}, ["p1"]),
            ({"old": (False,)}, ["p3"]),
            ({"old": (0,)}, []),
            ({"year": ("2001",)}, []),
            ({"nothing": (1,)}, []),
            ({"year": ()}, []),
            ({}, ["p1", "p3", "p4"]),
        ):
            assert sorted(ids(store, "London river", params=SearchParams(filter=accepted))) == expected, accepted

    def test_filters_do_not_change_scores(self, store: Any) -> None:
        needs(store, "filter")
        free = {hit.id: hit.score for hit in store.search([Query("London river")], 10, DEFAULT)[0].hits}
        chosen = store.search([Query("London river")], 10, SearchParams(filter={"kind": ("river",)}))[0].hits
        assert [(hit.id, hit.score) for hit in chosen] == [("p1", free["p1"])]

    def test_title_weight_scores_titles_by_themselves(self, store: Any, url: str) -> None:
        if "title_weight" not in store.info().capabilities:
            with pytest.raises(InputError, match="title_weight"):
                ids(store, "Thames", params=SearchParams(title_weight=1.0))
            return
        with create_store(str(url), "en", replace=True) as made:
            made.add(
                [
                    Passage("a", "Rome and walls", "Rome"),
                    Passage("b", "walls"),
                    Passage("c", "gates here", "of Rome Rome"),
                ]
            )
        weighted = reopen(url)
        # Texts have 2, 1 and 2 tokens; titles 1, none and 2, so that only two passages count for them.
        text = bm25(1, 3, 1, 2, average=5 / 3)
        titles = bm25(1, 2, 2, 1, average=3 / 2), bm25(2, 2, 2, 2, average=3 / 2)
        for weight in (0.5, 2.0):
            expected = {"a": text + weight * titles[0], "c": weight * titles[1]}
            assert scores(weighted, Query("Rome"), SearchParams(title_weight=weight)) == pytest.approx(
                expected, rel=1e-6
            )
        assert scores(weighted, Query("Rome"), SearchParams(title_weight=0.0)) == pytest.approx({"a": text}, rel=1e-6)
        whole = {"a": bm25(2, 3, 2, 3, average=8 / 3), "c": bm25(2, 3, 2, 4, average=8 / 3)}
        assert scores(weighted, Query("Rome")) == pytest.approx(whole, rel=1e-6)

    def test_what_an_engine_cannot_do_is_refused_by_name(self, store: Any) -> None:
        for name, params in {
            "title_weight": SearchParams(title_weight=1.0),
            "k1": SearchParams(k1=2.0),
            "b": SearchParams(b=0.1),
        }.items():
            if name not in store.info().capabilities:
                for refused in (
                    lambda params=params: store.check(params),
                    lambda params=params: ids(store, "", params=params),
                ):
                    with pytest.raises(InputError, match=name):
                        refused()
            else:
                store.check(params)

    def test_a_closed_store_says_so_and_the_url_opens_anew(self, store: Any, url: str) -> None:
        assert not store.closed
        store.close()
        assert store.closed
        store.close()
        assert ids(reopen(url), "Rome") == ["p2"]

    def test_ties_that_fill_all_candidates_go_to_the_highest_ids_in_any_order(self, url: str) -> None:
        passages = [Passage(f"p{number:04}", "equal passages about Rome") for number in range(1000)]
        for ordered in (passages, passages[::-1]):
            with create_store(url, "en", replace=True) as made:
                made.add(ordered)
            assert ids(reopen(url), "rome passages", k=3) == ["p0999", "p0998", "p0997"]

    def test_nothing_is_visible_before_commit(self, store: Any, url: str) -> None:
        store.add([Passage("p9", "Paris and its river")])
        assert ids(store, "Paris") == []
        store.commit()
        assert ids(reopen(url), "Paris") == ["p9"]
        assert reopen(url).info().count == 7

    def test_deleted_passages_are_gone_and_no_longer_counted(self, store: Any, url: str) -> None:
        before = store.info()
        store.add([Passage("p9", "London once more")])
        store.commit()
        assert store.info().checksum != before.checksum
        store.delete(["p9"])
        store.commit()
        assert store.info() == before
        assert store.fetch(["p9"]) == [None]
        assert ids(store, "once more") == []
        scores = [hit.score for hit in store.search([Query("London")], 9, DEFAULT)[0].hits]
        assert scores == [hit.score for hit in reopen(url).search([Query("London")], 9, DEFAULT)[0].hits]

    def test_title_and_text_are_one_sequence_of_tokens(self, url: str) -> None:
        with create_store(url, "en") as made:
            made.add([Passage("a", "walls", "Rome"), Passage("b", "Rome walls")])
        found = scores(reopen(url), Query("Rome"))
        assert found["a"] == found["b"] > 0

    def test_a_weight_that_is_not_finite_is_refused(self, store: Any) -> None:
        with pytest.raises(ValueError, match="finite"):
            scores(store, Query("", (("Rome", math.inf),)))

    def test_the_checksum_depends_on_the_content_and_not_on_its_order(self, store: Any, url: str) -> None:
        before = store.info().checksum
        with create_store(url, "en", replace=True) as made:
            made.add(reversed(PASSAGES))
        assert reopen(url).info().checksum == before
        with create_store(url, "en", replace=True) as made:
            made.add([*PASSAGES[:-1], Passage("stop", "another text")])
        assert reopen(url).info().checksum != before

    def test_the_same_passage_again_is_skipped_with_one_warning(
        self, store: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        store.add([*PASSAGES[:2], Passage("p7", "new"), Passage("p7", "new")])
        store.commit()
        assert store.info().count == 7
        (warning,) = caplog.messages
        assert warning.startswith("3 passages")

    def test_the_same_id_with_other_content_is_refused_and_nothing_of_the_add_stays(self, store: Any) -> None:
        before = store.info()
        with pytest.raises(InputError, match=r"'p1'.*The river Thames.*Another text"):
            store.add([Passage("p8", "fine"), Passage("p1", "Another text")])
        store.commit()
        assert store.info() == before

    def test_a_deleted_id_may_come_again(self, store: Any) -> None:
        store.delete(["p1"])
        store.add([Passage("p1", "Another text about Vienna")])
        store.commit()
        assert ids(store, "Vienna") == ["p1"]
        assert ids(store, "Thames") == []
        assert store.info().count == 6

    def test_an_existing_collection_is_kept_unless_it_is_to_be_replaced(self, store: Any, url: str) -> None:
        with pytest.raises(InputError, match=r"exists.*--replace"), create_store(url, "en"):
            pass
        with create_store(url, "de", replace=True) as made:
            made.add([Passage("d1", "Die Häuser der Stadt")])
        assert reopen(url).info().language == "de"
        assert ids(reopen(url), "Haus") == ["d1"]

    def test_a_build_that_fails_leaves_nothing(self, url: str, tmp_path: Path) -> None:
        def passages() -> Iterator[Passage]:
            yield PASSAGES[0]
            raise RuntimeError("source broke")

        before = set(tmp_path.rglob("*"))
        with pytest.raises(RuntimeError, match="source broke"), create_store(url, "en") as made:
            made.add(passages())
        with pytest.raises(InputError):
            reopen(url)
        assert not exists(url)
        assert set(tmp_path.rglob("*")) == before

    def test_an_empty_collection_can_be_searched(self, url: str) -> None:
        with create_store(url, "en"):
            pass
        assert ids(reopen(url), "London") == []
        assert reopen(url).info().count == 0
        assert list(reopen(url).scan()) == []

    def test_japanese_questions_find_their_passage(self, url: str) -> None:
        pytest.importorskip("sudachipy")
        with create_store(url, "ja") as made:
            made.add(JAPANESE)
        japanese = reopen(url)
        assert (japanese.info().language, japanese.info().analyzer) == ("ja", analyzer("ja").name)
        asked = {
            "タワーが完成したのは1958年ですか？": "tower",
            "調査を行う特許局はどこ": "office",
            "ﾀﾜｰ": "tower",
            "猫\ud83d": "odd",
        }
        for text, wanted in asked.items():
            assert ids(japanese, text)[0] == wanted
        assert ids(japanese, "はがのですか") == []
        assert [passage.text for passage in japanese.fetch(["tower", "odd"])] == [JAPANESE[0].text, JAPANESE[2].text]
