"""The patterns of ASCII and of all other text state the same rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.text import words


@given(st.text(st.sampled_from("ab01_.,:;' -")))
def test_ascii_is_cut_alike_by_both_patterns(text):
    assert words._WORD.findall(text) == words._ASCII.findall(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L’été 1\u066c000", ["l’été", "1\u066c000"]),
        ("cafe\u0301s soft\u00adhyphen zero\u200bwidth", ["cafe\u0301s", "soft\u00adhyphen", "zero", "width"]),
        ("東京は\u3099タワー\u30fbビル", ["東", "京", "は\u3099", "タワー", "ビル"]),
    ],
)
def test_letters_marks_and_ideographs(text, expected):
    assert words.words(text) == expected
