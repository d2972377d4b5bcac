"""SQuAD's F1, and MRQA's EM and F1 against the formulas of the official script."""

from __future__ import annotations

import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.metrics import squad
from convqa.metrics.squad import best_exact_match as exact_match
from convqa.metrics.squad import best_f1 as f1


def tokens(text):
    """The official steps, one after another: lower case, punctuation, articles, blanks."""
    text = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


texts = st.text(alphabet=st.one_of(st.sampled_from("aAnthe .,-'“é\t\xa0İ"), st.characters()), max_size=12)


@given(st.lists(texts, min_size=1, max_size=4), texts)
def test_both_are_the_best_over_the_answers(truths, model):
    said = tokens(model)
    best = 0.0
    for truth in map(tokens, truths):
        shared = (Counter(said) & Counter(truth)).total()
        if shared:
            precision, recall = 1.0 * shared / len(said), 1.0 * shared / len(truth)
            best = max(best, (2 * precision * recall) / (precision + recall))
    assert f1(truths, model) == best
    assert exact_match(truths, model) == float(any(tokens(truth) == said for truth in truths))


def test_nothing_on_both_sides_is_equal_and_shares_nothing_unlike_in_squad_2():
    assert (exact_match(["the"], "a"), f1(["the"], "a"), squad.f1("the", "a")) == (1, 0, 1)


@pytest.mark.parametrize("measure", [exact_match, f1])
def test_without_answers_there_is_nothing_to_compare(measure):
    with pytest.raises(ValueError, match="empty"):
        measure([], "x")


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
    assert squad.normalize(text) == expected
