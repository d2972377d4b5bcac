import pytest

from convqa.metrics.rouge1 import rouge1, tokens


def test_lower_casing_a_dotted_capital_i_splits_the_word():
    assert tokens("İstanbul") == ["i", "stanbul"]


@pytest.mark.parametrize(("truth", "model"), [("", ""), ("a", ""), ("", "a"), ("?!", "a"), ("é", "é")])
def test_without_tokens_it_is_0(truth, model):
    assert rouge1(truth, model) == (0, 0, 0)
