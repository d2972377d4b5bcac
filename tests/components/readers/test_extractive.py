"""The extractive reader: what it reads, its scores and when it stops. Its model: tests/models/kinds/test_reader.py."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.components.readers.extractive import Extractive
from convqa.domain import (
    Failure,
    Hit,
    Passage,
    Query,
    Ranking,
    Rankings,
    Reading,
    Rewrite,
    Rewrites,
    Turn,
    TurnId,
    Turns,
)
from convqa.errors import InputError, RunError

ONE = Passage("1", "It was written by Goethe in Weimar.", title="Faust")
TWO = Passage("2", "Faust 👍🏽 is\r\na play.\tLeipzig liked it.")
THREE = Passage("3", "Frankfurt")
LIKED = {"goethe": 3.0, "weimar": 1.0, "leipzig": 2.0, "frankfurt": 0.5}


@pytest.fixture
def inner(tiny_readers):
    return tiny_readers.tokenizer("shipped")


@pytest.fixture
def model(monkeypatch, tiny_readers, inner):
    """A reader that likes some words, in the place of the one that ships."""
    made = tiny_readers.that_likes(inner, LIKED)
    monkeypatch.setattr("convqa.components.readers.extractive.load_reader", lambda name, options: made)
    return made


def ranking(*passages, step=1.0):
    return Ranking(tuple(Hit(passage.id, 9.0 - place * step, passage) for place, passage in enumerate(passages)))


def read_all(rankings, questions=None, **options):
    questions = questions or ["Who wrote Faust?"] * len(rankings)
    turns = Turns(tuple(Turn(TurnId(1, place), "as it was said") for place in range(len(rankings))))
    rewrites = Rewrites(tuple(Rewrite(question, (Query("other words"),)) for question in questions))
    station = Extractive(**{"max_span_tokens": 1, **options})
    return station.run(turns, rewrites, Rankings(tuple(rankings)))["readings"].items


def read(*passages, **options):
    (reading,) = read_all([ranking(*passages)], **options)
    return reading


def texts(reading):
    return [span.text for span in reading.spans]


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def test_spans_of_all_passages_are_compared(model):
    reading = read(THREE, TWO, ONE, top_k=4)
    assert texts(reading) == ["Goethe", "Leipzig", "Weimar", "Frankfurt"]
    assert [span.passage_id for span in reading.spans] == ["1", "2", "1", "3"]
    assert [span.score for span in reading.spans] == pytest.approx([sigmoid(margin) for margin in (6, 4, 2, 1)])
    assert reading.null_score == pytest.approx(sigmoid(-6))
    found = {passage.id: passage.text for passage in (ONE, TWO, THREE)}
    assert all(found[span.passage_id][span.start : span.end] == span.text for span in reading.spans)


def test_the_null_score_does_not_depend_on_how_many_spans_were_asked_for(model):
    assert len({read(ONE, TWO, top_k=most).null_score for most in (1, 5, 20)}) == 1
    assert read(THREE).null_score > read(ONE).null_score


def test_a_score_does_not_depend_on_the_other_passages(model):
    alone = read(TWO).spans[0]
    assert alone in read(ONE, TWO, THREE).spans


def test_nothing_to_read(model):
    nothing = Reading((), 1.0)
    for passages in ((), (Passage("e", ""),), (Passage("b", " \t\r\n"),), (Passage("m", "[PAR]"),)):
        assert read(*passages) == nothing
    assert read_all([ranking(ONE)], [" "]) == (nothing,)
    assert read_all([Ranking((Hit("x", 2.0), Hit("y", 1.0)))]) == (nothing,)


def test_what_is_not_there_spoils_nothing_beside_it(model):
    mixed = Ranking((Hit("x", 5.0), Hit("e", 4.0, Passage("e", "")), Hit("1", 3.0, ONE)))
    empty = Ranking(())
    assert [texts(reading)[:1] for reading in read_all([mixed, empty, ranking(TWO)])] == [["Goethe"], [], ["Leipzig"]]


def test_only_so_many_passages_are_read(model):
    assert {span.passage_id for span in read(THREE, TWO, ONE, max_passages=2).spans} == {"3", "2"}


def test_an_answer_is_only_so_long(monkeypatch, tiny_readers, inner):
    first, last = (inner.token_to_id(word) for word in ("goethe", "weimar"))
    made = tiny_readers.without_network(inner, lambda tokens: np.array([
        [5.0 if id == liked else 0.0 for id in tokens.ids] for liked in (first, last)
    ], np.float32))  # fmt: skip
    monkeypatch.setattr("convqa.components.readers.extractive.load_reader", lambda name, options: made)
    assert texts(read(ONE, max_span_tokens=3))[0] == "Goethe in Weimar"
    assert texts(read(ONE, max_span_tokens=2))[0] == "Goethe"


def test_memory_does_not_grow_with_the_passages_of_a_turn(model, monkeypatch):
    passages = [Passage(str(place), f"{ONE.text} {place}") for place in range(40)]
    whole = read(*passages, max_passages=40, top_k=3)
    model.seen.clear()
    monkeypatch.setattr("convqa.components.readers.extractive._MAX_PAIRS", 7)
    assert read(*passages, max_passages=40, top_k=3) == whole
    assert [len(call) for call in model.seen] == [7, 7, 7, 7, 7, 5]


def test_many_questions_at_once_keep_their_order_and_share_batches(model):
    rankings = [ranking(*(ONE, TWO, THREE)[place % 3 :]) for place in range(30)]
    made = read_all(rankings)
    assert made[:3] == made[3:6] and texts(made[0])[0] == "Goethe" and texts(made[2]) == ["Frankfurt"]
    assert len(model.seen) == 1 and len(model.seen[0]) == 3


def test_interpolation_mixes_in_the_ranking(model):
    # Scores of the ranking: 9, 8, 7, that is 1, .5, 0.
    reading = read(THREE, TWO, ONE, interpolation=0.7)
    wanted = {"Frankfurt": 0.3 + 0.7 * sigmoid(1), "Leipzig": 0.15 + 0.7 * sigmoid(4), "Goethe": 0.7 * sigmoid(6)}
    assert {span.text: span.score for span in reading.spans if span.text in wanted} == pytest.approx(wanted)
    assert texts(reading)[:2] == ["Leipzig", "Frankfurt"]
    assert reading.null_score == pytest.approx(sigmoid(-6))


def test_the_scale_of_the_ranking_does_not_matter(model):
    one, two = (read_all([ranking(THREE, TWO, ONE, step=step)], interpolation=0.5)[0] for step in (1.0, 1000.0))
    assert one == two


def test_what_is_passed_over_has_no_part_in_the_scale_of_the_ranking(model):
    blank = Passage("blank", " ")
    assert read(THREE, ONE, blank, interpolation=0.5) == read(THREE, ONE, interpolation=0.5)


def test_the_ends_of_interpolation(model):
    only_ranked = read(THREE, ONE, interpolation=0.0)
    assert [span.score for span in only_ranked.spans[:2]] == [1.0, 0.0] and texts(only_ranked)[:2] == [
        "Frankfurt", "Goethe"
    ]  # fmt: skip
    assert read(THREE, ONE, interpolation=1.0) == read(THREE, ONE)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_batches_change_no_result(monkeypatch, tiny_readers, inner, size):
    made = tiny_readers.without_network(inner, tiny_readers.by_chance)
    monkeypatch.setattr("convqa.components.readers.extractive.load_reader", lambda name, options: made)
    rankings = [ranking(*[(ONE, TWO, THREE)[(place + shift) % 3] for shift in range(place % 4 % 3 + 1)])
                for place in range(64)]  # fmt: skip
    questions = [f"Who wrote {place % 5}?" for place in range(64)]
    options = {"max_span_tokens": 6, "interpolation": 0.8}
    parts = []
    for start in range(0, 64, size):
        parts += read_all(rankings[start : start + size], questions[start : start + size], **options)
    assert parts == list(read_all(rankings, questions, **options))


wild = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from("ab \t\r\n\u3000e\u0301\u0627\u200f\u200d👩👍🏽\ud800京[PAR]")),
    max_size=60,
)


@settings(deadline=None)
@given(wild, st.lists(wild, max_size=4), st.integers(1, 5), st.one_of(st.none(), st.floats(0, 1)))
def test_any_spans_are_quotes_apart_and_in_order(tiny_readers, question, passages, top_k, share):
    station = Extractive(max_span_tokens=4, top_k=top_k, interpolation=share)
    station._reader = tiny_readers.without_network(tiny_readers.tokenizer("words"), tiny_readers.by_chance, 24)
    given_passages = [Passage(str(place), text) for place, text in enumerate(passages)]
    (reading,) = station.read_batch(
        [Turn(TurnId(1, 1), question)], [Rewrite(question, (Query(question),))], [ranking(*given_passages)]
    )
    assert len(reading.spans) <= top_k and 0 <= reading.null_score <= 1
    assert all(0 <= span.score <= 1 for span in reading.spans)
    assert [span.score for span in reading.spans] == sorted((span.score for span in reading.spans), reverse=True)
    for span in reading.spans:
        assert span.text == passages[int(span.passage_id)][span.start : span.end] == span.text.strip() != ""
    ordered = sorted((span.passage_id, span.start, span.end) for span in reading.spans)
    assert all(one[0] != two[0] or one[2] <= two[1] for one, two in itertools.pairwise(ordered))


def test_a_model_that_is_not_there_ends_the_run_in_words(tmp_path):
    with pytest.raises(InputError, match="unknown model 'nosuch'"):
        Extractive(model="nosuch").warm_up()
    with pytest.raises(InputError, match="owner/name is not on this machine"):
        Extractive(model="owner/name").warm_up()
    with pytest.raises(InputError, match="expected a model of kind 'reader', got kind 'encoder'"):
        Extractive(model="encoder").warm_up()
    with pytest.raises(RunError, match="no such folder"):
        read_all([ranking(ONE)], model=str(tmp_path / "nosuch"))


@pytest.mark.models
def test_a_real_model_reads(tiny_reader):
    long = Passage("long", "Goethe was born in Frankfurt. " * 3500)
    assert len(long.text) > 100_000
    rankings = [ranking(ONE, TWO), ranking(), ranking(long), ranking(Passage("o", "x"), Passage("b", " "))]
    made = read_all(rankings, ["Who wrote Faust? " * 100, "?", "كيف حالك؟ 👍🏽 \x00 \ud800", "x"], max_span_tokens=30,
                    model=str(tiny_reader("Bert")))  # fmt: skip
    assert not [item for item in made if isinstance(item, Failure)]
    assert [bool(item.spans) for item in made] == [True, False, True, True]
