from __future__ import annotations

import pytest

from convqa.metrics.citations import Cited, quote_scores, validity
from convqa.metrics.overlap import PrecisionRecallF1, set_scores


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ("", "", (1, 1, 1)),
        ("a", "", (0, 0, 0)),
        ("", "a", (0, 0, 0)),
        ("a", "b", (0, 0, 0)),
        ("ab", "abc", (1, 2 / 3, 0.8)),
        ("aab", "a", (0.5, 1, 2 / 3)),
    ],
)
def test_set_scores(predicted, gold, expected):
    assert set_scores(list(predicted), list(gold)) == pytest.approx(expected)


GOLD = ["The coat is soft , downy and grey .", "Its tail has a few dull stripes ."]


@pytest.mark.parametrize(
    ("quotes", "expected"),
    [
        (GOLD, (1, 1)),
        # half of a gold sentence finds it, less does not, but is right as far as it goes
        (["the coat is soft , downy"], (1, 0.5)),
        (["Its tail"], (1, 0)),
        # a passage that has all of it: right if at least half of it is gold
        (["Cats sleep. " + " ".join(GOLD)], (1, 1)),
        (["Cats sleep most of the day and hunt at night in the garden of a house. " + " ".join(GOLD)], (0, 1)),
        # exactly half of the shorter text is a run
        (["coat is soft but cats are wild beasts"], (0, 0.5)),
        # common words make none
        (["The tail of a dog is long and it has a coat"], (0, 0)),
        (["", " ."], (0, 0)),
        ([], (0, 0)),
    ],
)
def test_quotes_against_gold_sentences(quotes, expected):
    assert quote_scores(quotes, GOLD) == PrecisionRecallF1.of(*expected)


def test_no_quotes_and_no_gold():
    assert quote_scores([], []) == quote_scores(["the"], ["."]) == (1, 1, 1)
    assert quote_scores(["cat"], []) == (0, 0, 0)


@pytest.mark.parametrize(
    ("citation", "expected"),
    [
        (Cited("a", 0, 3, "Ada"), True),
        (Cited("a", 4, 7, "👩‍💻"), True),
        (Cited("a", None, None, "Ada"), True),
        (Cited("a", 0, 4, "Ada"), False),
        (Cited("a", 0, None, "Ada"), False),
        (Cited("a", -3, 0, "Ada"), False),
        (Cited("a", 14, 16, "\r\n"), False),
        (Cited("a", 3, 3, ""), False),
        (Cited("a", None, None, ""), False),
        (Cited("b", 0, 3, "Ada"), False),
    ],
)
def test_a_citation_can_be_opened(citation, expected):
    assert validity([citation, Cited("a", 0, 3, "Ada")], {"a"}) == (1 if expected else 0.5)


def test_without_citations_none_is_wrong():
    assert validity([], set()) == 1
