"""From stored fields to a passage."""

from __future__ import annotations

import pytest

from convqa.domain import Passage
from convqa.stores.anserini.index import stored_passage


@pytest.mark.parametrize(
    ("raw", "contents", "expected"),
    [
        ('{"id": "a", "contents": "T"}', None, Passage("a", "T")),
        ('{"contents": "T", "title": "t", "url": "u"}', "x", Passage("a", "T", "t", "u")),
        ('{"contents": "T", "title": ["t"], "url": 3}', None, Passage("a", "T")),
        (
            '{"text": "T", "meta": {"y": 1, "l": [1], "n": null, "b": true}}',
            None,
            Passage("a", "T", "", "", {"y": 1, "b": True}),
        ),
        ('{"contents": "half \\ud800 sign"}', None, Passage("a", "half \ufffd sign")),
        ('{"body": "T"}', "T", Passage("a", "T")),
        ('{"body": "T"}', None, None),
        ('{"contents": 5}', None, None),
        ("{curly} but no JSON", None, Passage("a", "{curly} but no JSON")),
        ("<DOC>plain</DOC>", None, Passage("a", "<DOC>plain</DOC>")),
        (None, "T", Passage("a", "T")),
        (None, None, None),
    ],
)
def test_raw_json_and_plain_text(raw, contents, expected):
    assert stored_passage("a", raw, contents) == expected
