"""The server that other tests use comes up as it says."""

from __future__ import annotations

import urllib.request


def test_one_node_answers_with_the_version_that_is_promised(elasticsearch):
    with urllib.request.urlopen(elasticsearch.replace("elasticsearch:", "http:"), timeout=10) as answer:
        assert b'"number" : "8.19.8"' in answer.read()
