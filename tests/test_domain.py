"""Values: round trips through JSON, orders, invariants."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa import domain
from convqa.domain import (
    Answer,
    Citation,
    Exchange,
    Failure,
    Hit,
    Passage,
    Query,
    Ranking,
    Reading,
    Response,
    Rewrite,
    Sentence,
    Span,
    Turn,
    TurnId,
    Turns,
)

texts = st.text(max_size=20)
finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
ids = st.builds(TurnId, st.integers() | texts, st.integers())
passages = st.builds(Passage, texts, texts, texts, texts, st.dictionaries(texts, texts | st.integers() | st.booleans()))
exchanges = st.builds(Exchange, texts, texts, st.none() | texts, st.sampled_from(["answered", "asked", "failed"]))
queries = st.builds(Query, texts, st.tuples(st.tuples(texts, finite)), finite)
rewrites = st.builds(Rewrite, texts, st.tuples(queries), st.just(()) | st.tuples(texts))
rankings = st.lists(st.builds(Hit, texts, finite, st.none() | passages), max_size=4).map(Ranking.of)
readings = st.builds(Reading, st.tuples(st.builds(Span, texts, st.just(0), st.just(1), texts, finite)), finite)
citations = st.builds(Citation, texts) | st.builds(Citation, texts, st.just(0), st.integers(0, 9))
answers = st.builds(
    Answer, st.sampled_from(["answer", "none"]), texts, st.tuples(st.builds(Sentence, texts, st.tuples(citations)))
)
failures = st.builds(Failure, texts, texts, texts)
responses = st.builds(
    Response, ids, st.none() | rewrites, st.none() | rankings, st.none() | readings, st.none() | answers,
    st.dictionaries(texts, finite), st.none() | failures,
)  # fmt: skip
values = st.one_of(exchanges, rewrites, rankings, readings, answers, failures, responses)


@given(values)
def test_every_value_round_trips_through_json(value):
    assert type(value).from_json(value.to_json()) == value


def test_batches_copy_as_themselves():
    batch = Turns((Turn(TurnId(1, 1), "q"),))
    assert copy.deepcopy(batch) is batch


@given(
    st.lists(st.tuples(st.text(max_size=3), st.sampled_from([0.5, 1.0, 1.0000000001, 2.0])), unique_by=lambda p: p[0])
)
def test_rankings_follow_trec_eval(pairs):
    ranking = Ranking.of([Hit(id, score) for id, score in pairs])
    keys = [(hit.score, hit.id.encode()) for hit in ranking.hits]
    assert keys == sorted(keys, reverse=True)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_scores_must_be_finite(score):
    with pytest.raises(ValueError, match="finite"):
        Hit("p", score)


def test_citations_have_both_offsets_or_neither():
    with pytest.raises(ValueError, match="or neither"):
        Citation("p", 3)
    with pytest.raises(ValueError, match="offsets"):
        Citation("p", 3, 2)


def test_the_module_imports_nothing_from_outside():
    assert {name for name in vars(domain) if name in {"numpy", "pydantic", "haystack"}} == set()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Passage(None, None), "passage: id: expected a string, got None"),
        (lambda: Passage("a", 3), "passage: text: expected a string, got 3"),
        (lambda: Passage("a", "b", meta=["c"]), r"passage: meta: expected a mapping, got \['c'\]"),
        (lambda: Passage.from_json("x"), "passage: expected a mapping with id and text, got 'x'"),
        (lambda: Passage.from_json({}), "passage: id: expected a string, got None"),
    ],
)
def test_a_value_of_another_type_is_refused_where_it_is_made(made, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        made()


def test_a_source_says_that_its_text_was_recognized():
    meta = {"file": "house/lease.pdf", "page": 3, "recognized": True}
    assert Passage("a", "One month.", "Lease", meta=meta).source() == "Lease (house/lease.pdf, page 3, recognized)"
