"""The reranker with the network of the reader of units."""

from __future__ import annotations

import pytest

from convqa.components.readers.units import UnitsReader
from convqa.components.rerankers.reader import ReaderReranker
from convqa.domain import Exchange, Hit, Passage, Ranking, Rewrite, Turn, TurnId
from convqa.models.kinds.unit_reader import UnitReader

TEXTS = {"map": "The library has a map of the pool.", "rule": "---", "pool": "The pool opens at eight.", "none": None}
PASSAGES = [(id, None if text is None else Passage(id, text)) for id, text in TEXTS.items()]
RANKING = Ranking(tuple(Hit(id, 4.0 - rank, passage) for rank, (id, passage) in enumerate(PASSAGES)))


def order(question="When does the pool open?", history=(), language="en", **parameters):
    turn = Turn(TurnId(1, 1), question, history, language=language)
    (ranking,) = ReaderReranker(**parameters).rerank_batch([turn], [Rewrite.unchanged(question)], [RANKING])
    return [hit.id for hit in ranking.hits]


def test_the_passage_that_answers_comes_first():
    assert order(weight=0.8) == ["pool", "map", "rule", "none"]


def test_the_history_tells_what_is_asked():
    before = Exchange("When does the pool open?", "")
    assert order("And when exactly?", (before,), weight=1.0)[0] == "pool"


def test_hits_below_the_depth_and_turns_in_other_languages_keep_their_places():
    assert order(depth=1) == list(TEXTS)
    assert order(language="de") == list(TEXTS)


def test_the_reader_does_not_read_them_again(monkeypatch):
    read = []
    plain = UnitReader._read
    monkeypatch.setattr(UnitReader, "_read", lambda self, pairs: read.extend(pairs) or plain(self, pairs))
    question = "When does the pool open on a day in the year of this test?"
    assert order(question, weight=0.8)[0] == "pool" and len(read) == 3
    turn = Turn(TurnId(1, 1), question)
    (reading,) = UnitsReader().read_batch([turn], [Rewrite.unchanged(question)], [RANKING])
    assert reading.spans[0].passage_id == "pool" and len(read) == 3


def test_a_weight_is_a_share():
    with pytest.raises(Exception, match="weight"):
        ReaderReranker(weight=2)
