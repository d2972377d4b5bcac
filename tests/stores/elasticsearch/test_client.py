"""Where a server is, how to log in to it, and one client for each."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.errors import InputError
from convqa.stores import find_stores, open_store
from convqa.stores.elasticsearch.client import client
from convqa.stores.elasticsearch.target import IndexTarget, credentials

SECRET = "s3cret-Pa55"


OPENSEARCH = {"version": {"distribution": "opensearch", "number": "3.8.0"}, "tagline": "The OpenSearch Project"}


@pytest.fixture
def opensearch():
    """Answers as OpenSearch 3.8.0 does: JSON without the header of Elasticsearch."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            data = json.dumps(OPENSEARCH if self.path == "/" else {}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json; charset=UTF-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"elasticsearch://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_opensearch_is_refused_by_its_name(opensearch):
    for act in (lambda: open_store(f"{opensearch}/passages"), lambda: find_stores(opensearch)):
        with pytest.raises(InputError, match=r"is it OpenSearch, or a proxy\? Give the address of"):
            act()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("elasticsearch://me@host:9201/docs", IndexTarget("host", 9201, False, "me", "docs")),
        ("elasticsearch+https://me%40corp@host/docs/", IndexTarget("host", 9200, True, "me@corp", "docs")),
        ("elasticsearch://[::1]:9300/a.b-c_1", IndexTarget("::1", 9300, False, "", "a.b-c_1")),
        ("elasticsearch://127.0.0.1/t%C3%A9", IndexTarget("127.0.0.1", 9200, False, "", "té")),
    ],
)
def test_a_url_is_taken_apart_and_put_together(url, expected):
    target = IndexTarget.parse(url)
    assert target == expected
    assert IndexTarget.parse(target.url) == target


def test_a_server_needs_no_index():
    server = IndexTarget.parse("elasticsearch://host", needs_index=False)
    assert (server.index, server.url, server.http) == ("", "elasticsearch://host:9200", "http://host:9200")
    assert IndexTarget.parse("elasticsearch+https://[::1]/", needs_index=False).http == "https://[::1]:9200"
    with pytest.raises(InputError, match="expected elasticsearch://"):
        IndexTarget.parse("elasticsearch://host/")


@pytest.mark.parametrize("name", ["_docs", "a%2Cb", "a*", "..", "a%0Ab"])
def test_names_that_elasticsearch_does_not_take_are_refused(name):
    with pytest.raises(InputError, match=r"is not a valid index name"):
        IndexTarget.parse(f"elasticsearch://host/{name}")


@pytest.mark.parametrize(
    "url",
    [
        "elasticsearch:///docs",
        "elasticsearch://host:abc/docs",
        "elasticsearch://host:99999/docs",
        f"elasticsearch://host/docs?api_key={SECRET}",
        f"elasticsearch://host/docs#{SECRET}",
        f"elasticsearch://me:{SECRET}@host/docs",
        f"elasticsearch://me:{SECRET}/with/slash@host/docs",
        f"elasticsearch://me:#{SECRET}@host/docs",
    ],
)
def test_other_urls_are_refused_and_no_secret_is_shown(url):
    with pytest.raises(InputError, match=r"expected elasticsearch://|CONVQA_ELASTICSEARCH_PASSWORD") as caught:
        IndexTarget.parse(url)
    assert SECRET not in str(caught.value)
    assert "s3cret" not in str(caught.value)


@given(st.text())
def test_any_url_is_read_or_refused(rest):
    try:
        target = IndexTarget.parse(f"elasticsearch://{rest}")
    except InputError:
        return
    assert IndexTarget.parse(target.url) == target


TARGET = IndexTarget("host", 9200, True, "", "docs")
WITH_USER = IndexTarget("host", 9200, True, "me", "docs")


def base64(text):
    return b64encode(text.encode()).decode()


def test_credentials_come_from_the_environment(tmp_path):
    (tmp_path / "ca.pem").write_text("x")
    assert credentials(TARGET, {}) == {}
    key = {"api_key": SECRET}
    assert credentials(TARGET, {"CONVQA_ELASTICSEARCH_API_KEY": SECRET}) == key
    login = {"CONVQA_ELASTICSEARCH_PASSWORD": SECRET, "CONVQA_ELASTICSEARCH_API_KEY": ""}
    assert credentials(TARGET, login) == {"basic_auth": base64(f"elastic:{SECRET}")}
    assert credentials(WITH_USER, login) == {"basic_auth": base64(f"me:{SECRET}")}
    accented = credentials(TARGET, {"CONVQA_ELASTICSEARCH_PASSWORD": "SECRÉT😀"})
    assert accented == {"basic_auth": base64("elastic:SECRÉT😀")}
    authority = {"CONVQA_ELASTICSEARCH_CA": str(tmp_path / "ca.pem")}
    assert credentials(TARGET, authority) == {"ca_certs": str(tmp_path / "ca.pem")}
    assert credentials(IndexTarget("host", 9200, False, "", "docs"), authority) == {}


@pytest.mark.parametrize(
    ("target", "environment", "message"),
    [
        (TARGET, {"PASSWORD": f"{SECRET}\nmore"}, "PASSWORD has invalid characters"),
        (WITH_USER, {}, "names a user, but CONVQA_ELASTICSEARCH_PASSWORD"),
        (WITH_USER, {"API_KEY": SECRET}, "names a user"),
        (TARGET, {"CA": "nowhere.pem"}, "CONVQA_ELASTICSEARCH_CA: nowhere.pem is not readable"),
    ],
)
def test_credentials_that_cannot_be_used_are_refused(target, environment, message):
    with pytest.raises(InputError, match=message) as caught:
        credentials(target, {f"CONVQA_ELASTICSEARCH_{name}": value for name, value in environment.items()})
    assert SECRET not in str(caught.value)


def test_one_client_serves_all_indexes_of_a_server(monkeypatch):
    target, other = (
        IndexTarget.parse("elasticsearch://127.0.0.1:1/a"),
        IndexTarget.parse("elasticsearch://127.0.0.1:1/b"),
    )
    first = client(target)
    assert client(other) is first
    monkeypatch.setenv("CONVQA_ELASTICSEARCH_PASSWORD", SECRET)
    second = client(target)
    assert second is not first
    assert client(target) is second
    for shown in (repr(second), repr(second.transport), repr(target), str(target)):
        assert SECRET not in shown


def test_a_child_process_has_a_client_of_its_own():
    code = (
        "import os\nfrom convqa.stores.elasticsearch.target import IndexTarget\n"
        "from convqa.stores.elasticsearch.client import client\n"
        "target = IndexTarget.parse('elasticsearch://127.0.0.1:1/a')\nfirst = client(target)\n"
        "if os.fork() == 0:\n    os._exit(0 if client(target) is not first else 1)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "0\n"
