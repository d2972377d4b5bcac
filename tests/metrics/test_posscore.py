"""Expected values worked by hand from the formula of the package posscore 0.0.1."""

import math

import numpy
import pytest

from convqa.metrics.posscore import lookups, posscore

VECTORS = {
    "cat": numpy.array([1, 0], dtype=numpy.float32),
    "dog": numpy.array([0, 1], dtype=numpy.float32),
    "the": numpy.array([1, 0], dtype=numpy.float32),
    "of": numpy.array([1, 1], dtype=numpy.float32),
}
CAT, DOG, THE, OF = ("Cat", "NOUN"), ("dog", "NOUN"), ("the", "DET"), ("of", "ADP")


@pytest.mark.parametrize(
    ("truth", "model", "expected"),
    [
        ([CAT, THE], [CAT, THE], 2),
        ([CAT], [DOG], 0),
        ([CAT], [CAT, DOG], math.sqrt(0.5)),
        ([CAT, THE], [CAT, OF], 1 + math.sqrt(0.5)),
        ([CAT, THE], [CAT], math.exp(1 - 0.5)),
        ([CAT], [CAT, THE], math.exp(1 - 2)),
        ([THE], [CAT, THE], 1),
        ([("unknown", "NOUN")], [CAT], 0),
        ([], [CAT], 0),
        ([CAT], [], 0),
    ],
)
def test_formula(truth, model, expected):
    assert posscore(truth, model, VECTORS) == pytest.approx(expected)


def test_only_words_of_2_to_15_letters_are_looked_up():
    assert lookups(["It's", "x" * 15, "y" * 16, "a1b", "_id"]) == ["it", "x" * 15]
