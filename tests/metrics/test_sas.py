import pytest

from convqa.metrics.sas import sas


def test_the_scorer_is_asked_once_and_has_to_answer_for_all():
    asked = []
    assert sas([("a", "b")], lambda pairs: asked.append(pairs) or [0.25]) == [0.25]
    assert asked == [[("a", "b")]]
    with pytest.raises(ValueError, match="1 scores for 2 pairs"):
        sas([("a", "b"), ("c", "d")], lambda _: [1.0])
