"""One page, however its address is written."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.tasks.jwhr.passages import page_key, plain_url

TOKYO = "ja.wikipedia.org/wiki/東京"


@pytest.mark.parametrize(
    ("title", "url", "key"),
    [
        ("x", "https://ja.wikipedia.org/wiki/%E6%9D%B1%E4%BA%AC", TOKYO),
        ("x", "http://JA.wikipedia.org/wiki/東京", TOKYO),
        ("x", "https://ja.m.wikipedia.org/wiki/東京", TOKYO),
        ("x", " https://ja.wikipedia.org/wiki/東京#歴史 ", TOKYO),
        ("x", "https://ja.wikipedia.org/wiki/東京?oldid=1&action=history#x", TOKYO),
        ("東京", "", TOKYO),
        (" 東京 ", "  ", TOKYO),
        ("x", "https://ja.wikipedia.org/wiki/A_b", "ja.wikipedia.org/wiki/A_b"),
        ("x", "https://ja.wikipedia.org/wiki/A%20b", "ja.wikipedia.org/wiki/A_b"),
        ("A b", "", "ja.wikipedia.org/wiki/A_b"),
        # What would cut the address elsewhere stays encoded: the page 誰? is not the page 誰.
        ("x", "https://ja.wikipedia.org/wiki/%E8%AA%B0%3F", "ja.wikipedia.org/wiki/誰%3F"),
        ("誰?", "", "ja.wikipedia.org/wiki/誰%3F"),
        ("100%", "", "ja.wikipedia.org/wiki/100%25"),
        ("x", "https://ja.wikipedia.org/wiki/100%25", "ja.wikipedia.org/wiki/100%25"),
        # Decomposed kana are the same page; full width is another one.
        ("x", "https://ja.wikipedia.org/wiki/か\u3099", "ja.wikipedia.org/wiki/が"),
        ("Ａ", "", "ja.wikipedia.org/wiki/Ａ"),
        # Only the query names these pages.
        ("x", "https://ja.wikipedia.org/?curid=5", "ja.wikipedia.org/?curid=5"),
        ("x", "https://en.wikipedia.org/wiki/Tokyo", "en.wikipedia.org/wiki/Tokyo"),
        # Not UTF-8: as it stands.
        ("x", "https://ja.wikipedia.org/wiki/%C5%EC", "ja.wikipedia.org/wiki/%C5%EC"),
        ("x", "http://[", "http://["),
    ],
)  # fmt: skip
def test_keys(title, url, key):
    assert page_key(title, url) == key


@settings(deadline=None)
@given(st.text())
def test_a_plain_address_is_the_same_page_and_stays(name):
    url = f"https://ja.wikipedia.org/wiki/{name}"
    plain = plain_url(url)
    assert plain_url(plain) == plain == unicodedata.normalize("NFC", plain)
    assert page_key("", plain) == page_key("", url)
