"""Support by words: the lexical score where there is an analysis, else words as they stand."""

from __future__ import annotations

import pytest

from convqa.components.builders._grounding import SUPPORTED, worded
from convqa.text.support import lexical_support

FRENCH = "Goethe a écrit Faust à Weimar. Il y est mort en 1832."
CHINESE = "歌德在魏玛写了浮士德。"


def test_with_an_analysis_it_is_the_lexical_score():
    pairs = [("Goethe wrote Faust in Weimar.", said) for said in ("He wrote in Weimar.", "He did not write.", "")]
    assert worded(pairs, "en") == [lexical_support(*pair, "en") for pair in pairs]


@pytest.mark.parametrize(
    ("language", "evidence", "said", "supported"),
    [
        ("fr", FRENCH, "Goethe a écrit Faust.", True),
        ("fr", FRENCH, "Il est mort à Weimar en 1832.", True),
        ("fr", FRENCH, "Il est mort à Weimar en 1823.", False),
        ("fr", FRENCH, "Il y a vendu des montres à Napoléon.", False),
        ("zh", CHINESE, "歌德写了浮士德。", True),
        ("zh", CHINESE, "歌德卖表给拿破仑。", False),
        ("zh", CHINESE, "德歌", False),
        ("fr", FRENCH, "...", False),
        ("fr", "", "Goethe", False),
    ],
)
def test_without_one_words_are_compared(language, evidence, said, supported):
    (score,) = worded([(evidence, said)], language)
    assert 0 <= score <= 1 and (score >= SUPPORTED) == supported
    assert worded([(said, said)], language) == [1.0 if any(map(str.isalnum, said)) else 0.0]
