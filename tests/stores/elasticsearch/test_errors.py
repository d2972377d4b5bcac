"""What goes wrong between us and a server, and what is said then."""

from __future__ import annotations

import json
import logging
import socket
import ssl
import threading
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

import pytest
import trustme

from convqa.errors import InputError, RunError, StoreUnavailable
from convqa.stores import open_store
from convqa.stores.elasticsearch.client import ask, client
from convqa.stores.elasticsearch.index import look_up
from convqa.stores.elasticsearch.target import IndexTarget

HEADERS = "X-elastic-product: Elasticsearch\r\nContent-Type: application/json\r\nConnection: close\r\n"
SECRET = "s3cret-Pa55"


def answer(status, body, headers=HEADERS):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(data)}\r\n\r\n".encode() + data


@contextmanager
def serving(*answers, context=None):
    """A server that gives these answers in turn, the last one again and again; None breaks the connection off."""
    listener = socket.create_server(("127.0.0.1", 0))
    asked = []

    def wrapped(connection):
        if context is None:
            return connection
        talk = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        with ExitStack() as either:
            either.enter_context(talk)
            talk.do_handshake()
            either.pop_all()
        return talk

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.settimeout(5)
            with suppress(OSError), wrapped(connection) as talk:
                asked.append(talk.recv(65536))
                found = answers[min(len(asked), len(answers)) - 1]
                if found is not None:
                    talk.sendall(found)
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield IndexTarget("127.0.0.1", listener.getsockname()[1], context is not None, "", "docs"), asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def once(target, call=lambda known: known.info()):
    """A request that is not repeated."""
    return ask(target, call, patience=0)


def error(kind, reason, **more):
    return {"error": {"root_cause": [{"type": kind, "reason": reason, **more}], "type": kind, "reason": reason, **more}}


class Clock:
    """Time that only passes in pauses, however busy the machine is."""

    now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr("convqa.stores.elasticsearch.client.time", Clock())


def test_nothing_listens():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(
        StoreUnavailable, match=f"nothing answers at http://127.0.0.1:{port}.*Start Elasticsearch"
    ) as caught:
        once(IndexTarget("127.0.0.1", port, False, "", "docs"))
    assert caught.value.transient


def test_no_answer_in_time():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        target = IndexTarget("127.0.0.1", silent.getsockname()[1], False, "", "docs")
        with pytest.raises(StoreUnavailable, match=r"did not answer in time.*_cluster/health"):
            ask(target, lambda known: known.options(request_timeout=0.1).info())


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (401, error("security_exception", f"unable {SECRET}"), InputError, "status 401.*CONVQA_ELASTICSEARCH_API_KEY"),
        (
            403,
            error("security_exception", "unauthorized"),
            InputError,
            "unauthorized.*view_index_metadata",
        ),
        (404, error("index_not_found_exception", "no such index", index="docs"), RunError, "its index docs is gone"),
        (400, error("index_closed_exception", "closed", index="docs"), StoreUnavailable, "closed.*_cat/shards"),
        (429, error("cluster_block_exception", "flood-stage"), StoreUnavailable, "flood-stage.*disk"),
        (400, b"<html>no</html>", InputError, "not in Elasticsearch's form"),
        (502, b"<html>bad gateway</html>", StoreUnavailable, "status 502.*try again"),
        (503, error("no_shard_available_action_exception", "no"), StoreUnavailable, "status 503.*_cat/shards"),
        (429, error("es_rejected_execution_exception", "queue full"), StoreUnavailable, "queue full.*try again"),
        (500, error("null_pointer_exception", "x"), StoreUnavailable, "status 500: x"),
        (400, error("parsing_exception", "odd"), InputError, "refused a request to docs .status 400: odd"),
    ],
)
def test_every_refusal_says_what_to_do(status, body, kind, message):
    headers = HEADERS.replace("application/json", "text/html") if isinstance(body, bytes) else HEADERS
    with serving(answer(status, body, headers)) as (target, _), pytest.raises(kind, match=message) as caught:
        once(target)
    assert SECRET not in str(caught.value)


def test_what_is_no_elasticsearch_is_said():
    plain = "Content-Type: application/json\r\nConnection: close\r\n"
    with (
        serving(answer(200, {}, plain)) as (target, _),
        pytest.raises(InputError, match="not as Elasticsearch does: is it OpenSearch, or a proxy"),
    ):
        once(target)
    page = b"<html>proxy</html>"
    with serving(answer(200, page)) as (target, _), pytest.raises(InputError, match="not as Elasticsearch does"):
        once(target)


def test_certificates_are_checked(monkeypatch, tmp_path):
    authority, good = trustme.CA(), answer(200, {"version": {}})
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    ours, another = (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) for _ in range(2))
    authority.issue_cert("127.0.0.1").configure_cert(ours)
    authority.issue_cert("example.org").configure_cert(another)
    with serving(good, context=ours) as (target, _):
        with pytest.raises(InputError, match=r"verify failed: .*Set CONVQA_ELASTICSEARCH_CA"):
            once(target)
        monkeypatch.setenv("CONVQA_ELASTICSEARCH_CA", str(tmp_path / "ca.pem"))
        assert once(target) == {"version": {}}
    wrong = pytest.raises(InputError, match=r"'127\.0\.0\.1' doesn't match .*the name that its certificate is for")
    with serving(good, context=another) as (target, _), wrong:
        once(target)
    (tmp_path / "ca.pem").write_text("no certificate")
    with (
        serving(good, context=ours) as (target, _),
        pytest.raises(InputError, match=r"Set CONVQA_.*_CA"),
    ):
        once(target)


def test_a_connection_that_breaks_off():
    with (
        serving(None) as (target, asked),
        pytest.raises(StoreUnavailable, match=r"nothing answers at .*Connection aborted"),
    ):
        once(target)
    assert len(asked) == 1


def test_what_passes_is_asked_again_and_what_does_not_is_not():
    busy, good = answer(429, error("es_rejected_execution_exception", "full")), answer(200, {"version": {}})
    with serving(busy, answer(503, {}), None, good) as (target, asked):
        assert ask(target, lambda known: known.info()).body == {"version": {}}
        assert len(asked) == 4
    with serving(busy) as (target, asked), pytest.raises(StoreUnavailable, match="try again"):
        ask(target, lambda known: known.info(), patience=1)
    assert len(asked) == 3
    with serving(answer(400, error("parsing_exception", "odd"))) as (target, asked), pytest.raises(InputError):
        ask(target, lambda known: known.info())
    assert len(asked) == 1


@pytest.mark.services
def test_a_wrong_password_is_never_shown(secure_elasticsearch, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("CONVQA_ELASTICSEARCH_CA", str(secure_elasticsearch.ca))
    monkeypatch.setenv("CONVQA_ELASTICSEARCH_PASSWORD", SECRET)
    with pytest.raises(InputError, match=r"status 401.*Set CONVQA") as caught:
        open_store(f"{secure_elasticsearch.url}/docs")
    shown = [str(caught.value), repr(caught.value.__cause__), repr(caught.value.__context__), caplog.text]
    assert all(SECRET not in text for text in shown)
    monkeypatch.setenv("CONVQA_ELASTICSEARCH_PASSWORD", secure_elasticsearch.login[1])
    with pytest.raises(InputError, match="there is no index 'docs'"):
        open_store(f"{secure_elasticsearch.url}/docs")


@pytest.mark.services
def test_a_key_opens_what_it_is_for_and_nothing_else(secure_elasticsearch, monkeypatch):
    monkeypatch.setenv("CONVQA_ELASTICSEARCH_CA", str(secure_elasticsearch.ca))
    monkeypatch.setenv("CONVQA_ELASTICSEARCH_PASSWORD", secure_elasticsearch.login[1])
    target = IndexTarget.parse(f"{secure_elasticsearch.url}/docs")
    rights = {"r": {"cluster": [], "indices": [{"names": ["docs"], "privileges": ["read"]}]}}
    key = client(target).security.create_api_key(name="k", role_descriptors=rights)["encoded"]
    monkeypatch.delenv("CONVQA_ELASTICSEARCH_PASSWORD")
    monkeypatch.setenv("CONVQA_ELASTICSEARCH_API_KEY", key)
    free = replace(target, user="")
    other = replace(free, index="other")
    for act in (lambda: ask(other, lambda known: known.search(index="other")), lambda: look_up(other)):
        with pytest.raises(InputError, match=r"request to other .*Reading needs the rights"):
            act()
    with pytest.raises(RunError, match="is gone"):
        ask(free, lambda known: known.search(index="docs"))


@pytest.mark.services
def test_the_real_server_tells_a_client_of_http_that_it_speaks_https(secure_elasticsearch):
    target = IndexTarget.parse(f"{secure_elasticsearch.url}/docs")
    with pytest.raises(StoreUnavailable, match=r"If it speaks HTTPS, write elasticsearch\+https"):
        once(replace(target, https=False, user=""))
