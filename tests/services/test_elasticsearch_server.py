"""The servers that other tests use come up as they say, and go down."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

pytestmark = pytest.mark.services


def test_one_node_answers_with_the_version_that_is_promised(elasticsearch):
    with urllib.request.urlopen(elasticsearch.replace("elasticsearch:", "http:"), timeout=10) as answer:
        assert b'"number" : "8.19.8"' in answer.read()


def test_the_secure_one_wants_a_password_and_its_authority(secure_elasticsearch):
    assert secure_elasticsearch.ask("/_security/_authenticate")["username"] == secure_elasticsearch.login[0]
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(f"https://localhost:{secure_elasticsearch.members[0].http}", timeout=10)
