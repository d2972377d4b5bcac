"""The two patterns beyond ASCII are one rule."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from convqa.text import words

western = st.text(st.characters(max_codepoint=0x24F) | st.characters(min_codepoint=0x2000, max_codepoint=0x206F))


@given(western)
def test_western_text_is_cut_as_any_text(text):
    assert words._unicode(western=True).findall(text) == words._unicode(western=False).findall(text)


def test_which_pattern_a_text_needs():
    assert words._NOT_WESTERN.search("naïve “Straße” – 1999") is None
    assert words._NOT_WESTERN.search("東京") is not None
