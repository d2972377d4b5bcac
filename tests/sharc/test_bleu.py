"""Corpus BLEU at its edges; the worked cases of ShARC's evaluator are in tests/sharc."""

from __future__ import annotations

import pytest

from convqa.sharc.bleu import COLUMNS, bleu, bleu_counts


def test_counts_are_clipped_and_fit_their_columns():
    counts = bleu_counts(["a", "a", "b"], ["a", "a", "a", "a"])
    assert counts == (2, 1, 0, 0, 4, 3, 2, 1, 4, 3) and len(counts) == COLUMNS


def test_a_short_text_has_no_long_ngrams():
    assert bleu_counts(["a"], ["a"]) == (1, 0, 0, 0, 1, 0, 0, 0, 1, 1)
    assert bleu(bleu_counts(["a"], ["a"]), 4) == 1  # smoothing makes 1/1 of 0/0


@pytest.mark.parametrize(("words", "expected"), [(8, 1 - 4 / 9), (3, 0.5134)])  # long: no penalty; short: exp(1 - 5/3)
def test_only_short_texts_are_punished_for_their_length(words, expected):
    reference = ["a", "b", "c", "d", "e"] if words == 3 else ["a", "b", "c", "d"]
    hypothesis = (reference + list("wxyz"))[:words]
    assert bleu(bleu_counts(reference, hypothesis), 1) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("reference", "hypothesis"), [([], ["a"]), (["a"], []), ([], [])])
def test_without_a_word_on_either_side_there_is_none(reference, hypothesis):
    assert bleu(bleu_counts(reference, hypothesis), 1) is None
