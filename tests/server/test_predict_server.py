"""The predict server over real sockets: the contract, and what clients do wrong."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from convqa.errors import InputError
from convqa.server import mrqa
from convqa.server.mrqa import PredictServer


@pytest.fixture
def server(qa):
    with PredictServer("127.0.0.1", 0) as made:
        made.listen(qa)
        thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, body, method="POST", path="/", headers=None):
    """(status, JSON) of one request on a connection of its own."""
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        assert response.headers["Content-Type"] == "application/json"
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_a_context_in_its_answers_out(server, line):
    expected = {"q1": "Goethe wrote Faust.", "q2": "Schiller wrote Wallenstein."}
    assert ask(server, json.dumps(line)) == (200, expected)
    assert ask(server, json.dumps({"header": {"dataset": "NewsQA", "split": "dev"}})) == (200, {})


def test_a_port_that_is_only_probed(server, line, capfd):
    for _ in range(50):
        socket.create_connection(server.server_address).close()
    with socket.create_connection(server.server_address):  # held open, as the evaluator does for a second
        assert ask(server, json.dumps(line))[0] == 200
    with socket.create_connection(server.server_address) as half:
        half.sendall(b"POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n{")
    time.sleep(0.05)
    assert ask(server, json.dumps(line))[0] == 200
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("no JSON", "this is no JSON"),
        ("", "this is no JSON"),
        (b"\xff\xfe", "byte 1 is not UTF-8"),
        ("[" * 100_000, "the JSON is nested too deeply"),
        ("[]", "the body: found list"),
        ('{"context": "x", "qas": [{"qid": "a"}]}', "qas[0].question: is missing"),
    ],
)
def test_what_cannot_be_read_is_said_in_json(server, line, body, said):
    status, reply = ask(server, body)
    assert status == 400 and said in reply["error"]
    assert ask(server, json.dumps(line))[0] == 200


def test_lone_surrogates_as_requests_sends_them(server, monkeypatch):
    seen = []
    monkeypatch.setattr(mrqa, "answer_context", lambda _, line: seen.append(line) or {"q": "\ud800"})
    body = json.dumps({"context": "Goethe \ud800 wrote Faust."})
    assert r"\ud800" in body
    assert ask(server, body) == (200, {"q": "\ufffd"})
    assert seen == [{"context": "Goethe \ufffd wrote Faust."}]


def test_other_methods_and_paths(server):
    assert ask(server, None, "GET")[0] == 405
    assert ask(server, None, "DELETE")[0] == 501
    assert ask(server, "{}", path="/predict")[0] == 404
    assert ask(server, "{}", path="/?a=b") == (200, {})


def test_a_body_without_or_with_a_wrong_length(server, line):
    endless = f"Content-Length: {'9' * 5000}\r\n"
    for header in ("", endless, "Content-Length: -1\r\n", "Content-Length: x\r\n", "Transfer-Encoding: chunked\r\n"):
        with socket.create_connection(server.server_address, timeout=30) as raw:
            raw.sendall(f"POST / HTTP/1.1\r\n{header}\r\n".encode())
            assert b" 411 " in raw.makefile("rb").readline()
    assert ask(server, json.dumps(line))[0] == 200


def test_a_body_that_is_too_long(server, line, monkeypatch):
    monkeypatch.setattr(mrqa, "MOST_BYTES", 1000)
    status, reply = ask(server, b" " * 5_000_000)
    assert status == 413 and "at most 1000" in reply["error"]
    assert ask(server, json.dumps(line))[0] == 200


def test_a_kept_connection_takes_one_context_after_another(server, line):
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=30)
    for body, status in ((json.dumps(line), 200), ("no JSON", 400), (json.dumps(line), 200)):
        connection.request("POST", "/", body)
        response = connection.getresponse()
        assert response.status == status
        response.read()
    connection.close()


def test_many_at_once_do_not_mix(server):
    def one(number):
        name = f"Person{number}"
        context = {"context": f"{name} wrote Faust.", "qas": [{"qid": f"q{number}", "question": "Who wrote Faust?"}]}
        return ask(server, json.dumps(context)) == (200, {f"q{number}": f"{name} wrote Faust."})

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(one, range(64)))


def test_contexts_are_answered_one_at_a_time(server, monkeypatch):
    inside = []

    def slow(qa, line):
        inside.append(line)
        time.sleep(0.05)
        return {"most": str(len(inside)), "line": inside.pop()["n"]}

    monkeypatch.setattr(mrqa, "answer_context", slow)
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda n: ask(server, json.dumps({"n": str(n)})), range(4)))
    assert replies == [(200, {"most": "1", "line": str(n)}) for n in range(4)]


def test_work_that_fails_is_said_in_json(server, line, monkeypatch, caplog):
    monkeypatch.setattr("convqa.server.mrqa.log.propagate", True)
    monkeypatch.setattr(mrqa, "answer_context", lambda *_: 1 / 0)
    status, reply = ask(server, json.dumps(line))
    assert status == 500 and "ZeroDivisionError" in reply["error"] and "ZeroDivisionError" in caplog.text


def test_the_port_opens_with_the_model(qa):
    with PredictServer("127.0.0.1", 0) as made:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(made.server_address)
        made.listen(qa)
        socket.create_connection(made.server_address).close()


def test_a_port_in_use(server):
    with pytest.raises(InputError, match=rf"127.0.0.1, port {server.server_address[1]}: .*in use"):
        PredictServer("127.0.0.1", server.server_address[1])


def test_a_port_that_another_takes_meanwhile(qa):
    with PredictServer("127.0.0.1", 0) as late, PredictServer("127.0.0.1", late.server_address[1]) as early:
        early.listen(qa)
        with pytest.raises(InputError, match="in use"):
            late.listen(qa)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b"])
def test_a_host_that_is_none(host):
    with pytest.raises(InputError, match=f"{host}, port 0: cannot be listened to"):
        PredictServer(host, 0)


def test_ipv6(qa, line):
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        made = PredictServer("::1", 0)
    except InputError as error:
        pytest.skip(str(error))
    with made:
        assert made.url == f"http://[::1]:{made.server_address[1]}/"
