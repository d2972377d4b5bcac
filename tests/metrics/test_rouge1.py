import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.metrics.rouge1 import rouge1, tokens


def test_lower_casing_a_dotted_capital_i_splits_the_word():
    assert tokens("İstanbul") == ["i", "stanbul"]


@pytest.mark.parametrize(("truth", "model"), [("", ""), ("a", ""), ("", "a"), ("?!", "a"), ("é", "é")])
def test_without_tokens_it_is_0(truth, model):
    assert rouge1(truth, model) == (0, 0, 0)


@given(st.text(), st.text())
def test_recall_and_precision_mirror_each_other(truth, model):
    one, other = rouge1(truth, model), rouge1(model, truth)
    assert (one.recall, one.precision) == (other.precision, other.recall)
    assert one.f1 == pytest.approx(other.f1)
    assert min(one.recall, one.precision) <= one.f1 + 1e-9 <= max(one.recall, one.precision) + 2e-9


@given(st.text(min_size=1))
def test_a_text_with_tokens_equals_itself(text):
    assert rouge1(text, text) == ((1, 1, 1) if tokens(text) else (0, 0, 0))
