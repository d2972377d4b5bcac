"""What speaks for the passages answering: in range, finite, and the same on any scale of scores."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.components.deciders.logistic import Signal, signals, support
from convqa.domain import Answer, Citation, Hit, Passage, Ranking, Reading, Rewrite, Sentence, Span, Turn, TurnId

ADA = Passage("a", "She wrote notes on the engine. She died in 1852.", title="Ada Lovelace")
ENGINE = Passage("e", "Babbage never built the engine.")
QUESTION = "What did Lovelace write about Babbage's engine?"


def read(passages=(ADA, ENGINE), scores=(3.0, 2.0, 1.0), reading=None, question=QUESTION, language="en"):
    hits = [
        Hit(f"h{place}", score, passages[place] if place < len(passages) else None)
        for place, score in enumerate(scores)
    ]
    turn = Turn(TurnId(1, 1), "What about it?", language=language)
    return signals(turn, Rewrite(question, ()), Ranking(tuple(hits)), reading)


def test_the_questions_words_are_looked_for_in_the_top_passages():
    both, one = read(question="Babbage and Lovelace"), read(question="Babbage and Lovelace", passages=(ENGINE,))
    assert 0 < one["word_share"] == both["word_share"] < 1
    assert read(question="Zeppelins?")["word_share"] == 0.0


def test_words_are_near_one_another_in_two_sentences_in_a_row():
    far = Passage("f", "Lovelace was a poet's daughter. She lived in London. Babbage built engines.")
    close = Passage("c", "Lovelace was a poet's daughter. Babbage built engines. She lived in London.")
    apart, together = (read(question="Babbage and Lovelace", passages=(one,))["word_share"] for one in (far, close))
    assert 0 < apart < together == pytest.approx(1.0)


def test_what_is_ranked_behind_the_first_passages_does_not_matter():
    reading = Reading((Span("h0", 0, 3, "She", 3.0),), 0.25)
    shallow = read(scores=(3.0, 2.0, 1.0), reading=reading)
    for depth in (20, 50, 100, 1000):
        for scale in (0.01, 1.0):
            assert read(scores=tuple(scale * (depth - place) for place in range(depth)), reading=reading) == shallow


def test_the_reading_says_what_it_found_and_missed():
    found = read(reading=Reading((Span("h0", 0, 3, "She", 3.0), Span("h0", 0, 1, "S", 1.0)), 0.25))
    assert (found["null"], found["best"]) == (0.25, 0.75)
    assert read(reading=Reading((), 7.0))["null"] == 1.0
    assert read(reading=Reading((Span("h0", 0, 3, "She", math.inf),), 0.25))["best"] is None


def test_what_a_turn_lacks_is_missing():
    assert {*read(), "cosine"} == set(get_args(Signal))
    assert read(scores=())["word_share"] is None
    assert read(passages=())["word_share"] is None
    assert read(question="")["word_share"] is None
    assert (read()["null"], read()["best"]) == (None, None)
    assert read(language="xx")["word_share"] is None


numbers = st.floats(-1e30, 1e30)
texts = st.text(max_size=20)


@settings(deadline=None)
@given(st.lists(st.tuples(numbers, texts), max_size=60), texts, st.lists(numbers, max_size=3), st.floats(-2, 3))
def test_signals_are_finite_and_from_minus_one_to_one(rows, question, scores, null):
    hits = Ranking.of([Hit(str(place), score, Passage(str(place), text)) for place, (score, text) in enumerate(rows)])
    spans = tuple(Span("0", 0, 1, "x", score) for score in scores)
    found = signals(Turn(TurnId(1, 1), ""), Rewrite(question, ()), hits, Reading(spans, null))
    values = [value for value in found.values() if value is not None]
    assert all(math.isfinite(value) and -1 <= value <= 1 + 1e-9 for value in values)


def said(text, *citations, language="en"):
    return support(Answer("answer", text, (Sentence(text, citations),)), Ranking((Hit("a", 1.0, ADA),)), language)


def test_a_quote_is_supported_and_what_shares_no_word_is_not():
    whole = Citation("a", 0, 30)
    assert said("She wrote notes on the engine.", whole) == 1.0
    assert said("She wrote  notes", Citation("a")) == 1.0
    assert said("Zeppelins fly.", whole) == 0.0
    assert said("She wrote notes.") == said("She wrote notes.", language="xx") == 0.0
    assert 0 < said("She wrote notes on the engine of a zeppelin in Friedrichshafen.", whole) < 1
    assert support(Answer("answer", ""), Ranking(), "en") == 0.0
