"""Passages as documents of Haystack, and rankings of them."""

from __future__ import annotations

import pytest
from haystack import Document

from convqa.components.haystack import ranked, to_document, to_passage
from convqa.components.rankings import behind
from convqa.domain import Hit, NotFinite, Passage


def test_a_passage_survives_being_a_document():
    passage = Passage("p", "Faust 👋", "Goethe", "http://x", {"year": 1808, "old": True, "a": 1.5, "b": "c"})
    document = to_document(Hit("p", 2.5, passage))
    assert (document.id, document.content, document.score) == ("p", "Faust 👋", 2.5)
    assert document.meta == {"year": 1808, "old": True, "a": 1.5, "b": "c", "title": "Goethe", "url": "http://x"}
    assert to_passage(document) == passage
    assert to_passage(to_document(Hit("q", 1.0, Passage("q", "")))) == Passage("q", "")


def test_what_no_passage_can_hold_is_left_out():
    meta = {"title": 7, "url": None, "list": [1], "nan": float("nan"), "none": None, "ok": "\ud800"}
    assert to_passage(Document(id="d", content="a \ud800", meta=meta)) == Passage(
        "d", "a \ufffd", "7", "", {"list": [1], "ok": "\ufffd"}
    )
    assert to_passage(Document(id="d", content=None)) is None


def ids(ranking):
    return [hit.id for hit in ranking.hits]


def test_scores_stay_where_they_agree_with_the_order():
    found = ranked([Hit("a", 3.0), Hit("b", 1.0), Hit("c", 1.0), Hit("a", 0.5)], True)
    assert [(hit.id, hit.score) for hit in found.hits] == [("a", 3.0), ("c", 1.0), ("b", 1.0)]


@pytest.mark.parametrize(("scores", "scored"), [((1.0, 3.0, 2.0), True), ((0.0, 0.0, 0.0), False)])
def test_else_the_order_counts(scores, scored):
    hits = [Hit(id, score) for id, score in zip("abc", scores, strict=True)]
    found = ranked([*hits, hits[0]], scored)
    assert ids(found) == ["a", "b", "c"]
    assert found.hits[1].score == pytest.approx(1 / 62)


def test_a_score_that_is_no_number_is_refused():
    with pytest.raises(NotFinite, match="'a' is nan"):
        ranked([Hit("a", float("nan"))], True)


@pytest.mark.parametrize("score", [3.0, -3.0, 1e30, -1e30, 0.0])
def test_the_rest_stays_behind_in_its_order(score):
    found = behind(ranked([Hit("a", score)], True), [Hit("z", 9.0), Hit("b", 9.0), Hit("y", 7.0)])
    assert ids(found) == ["a", "z", "b", "y"]
    assert all(above.score > below.score for above, below in zip(found.hits, found.hits[1:], strict=False))
    assert ids(behind(ranked([], True), [Hit("z", 9.0)])) == ["z"]
