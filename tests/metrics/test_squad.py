import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.metrics.squad import exact_match, f1, normalize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The U.S.", "us"),
        ("vitamin-a", "vitamina"),
        ("“the” – 10", "“ ” – 10"),
        ("an apple a\tday \n", "apple day"),
        ("theatre", "theatre"),
        ("A.", ""),
    ],
)
def test_normalize(text, expected):
    assert normalize(text) == expected


@pytest.mark.parametrize(
    ("truth", "model", "expected"), [("", "", 1), ("the", "a", 1), ("the", "dog", 0), ("dog", "", 0), ("x y", "z", 0)]
)
def test_f1_without_shared_tokens(truth, model, expected):
    assert f1(truth, model) == expected


def test_f1_counts_repeats():
    assert f1("b b c", "b b b") == pytest.approx(2 / 3)


@given(st.text(), st.text())
def test_exact_match_implies_f1_of_1(truth, model):
    assert 0 <= f1(truth, model) <= 1
    if exact_match(truth, model):
        assert f1(truth, model) == 1
