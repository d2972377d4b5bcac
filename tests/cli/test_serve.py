"""``convqa serve`` as a process: how it starts, what MRQA's evaluator gets from it, how it ends, what a kill leaves."""

from __future__ import annotations

import errno
import gzip
import http.client
import json
import signal
import socket
import time

import pytest

HEADER = {"header": {"dataset": "NewsQA", "split": "dev"}}


@pytest.fixture
def pipeline(root):
    return root / "tests" / "fixtures" / "own-passages.yaml"


@pytest.fixture
def serve(process, pipeline, tmp_path):
    """``serve(...)``: the process and its port, once it answers."""

    def start(*arguments):
        data = {"XDG_DATA_HOME": str(tmp_path / "data")}
        server = process("serve", "--port", 0, *(arguments or ("--pipeline", pipeline)), **data)
        line = server.stdout.readline()
        assert line.startswith("Listening on http://127.0.0.1:"), line
        return server, int(line.split(":")[2].split("/")[0])

    return start


def ask(port, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Content-Type": "application/json"}
    connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
    reply = json.loads(connection.getresponse().read())
    connection.close()
    return reply


def evaluate(dataset, port):
    """What the official predict_server.py does with a file and a port, step by step."""
    with (gzip.open if dataset.name.endswith(".gz") else open)(dataset, "rt", encoding="utf-8") as lines:
        contexts = [context for context in map(json.loads, lines) if "header" not in context]
    probe = socket.socket()
    for _ in range(600):
        # The first connection that is taken does not end the loop: the next, on the same socket, does.
        if probe.connect_ex(("127.0.0.1", port)) not in {0, errno.ECONNREFUSED}:
            break
        time.sleep(1)
    else:
        raise AssertionError("could not connect to server")
    probe.close()
    predictions = {}
    for context in contexts:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        body = json.dumps(context).encode()
        connection.request("POST", "/", body, {"Content-Type": "application/json", "Connection": "keep-alive"})
        predictions.update(json.loads(connection.getresponse().read()))
        connection.close()
    return predictions


@pytest.mark.parametrize("packed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_evaluator_of_mrqa_gets_what_a_run_writes(serve, call, pipeline, data, tmp_path, packed):
    pipeline = "mrqa" if packed else pipeline
    lines = [json.dumps(HEADER), *(data / "mrqa" / "NewsQA_sample.jsonl").read_text(encoding="utf-8").splitlines()[:2]]
    folder = tmp_path / "input"
    folder.mkdir()
    dataset = folder / ("NewsQA.jsonl.gz" if packed else "NewsQA.jsonl")
    text = "".join(f"{line}\n" for line in lines).encode()
    dataset.write_bytes(gzip.compress(text) if packed else text)
    server, port = serve("--pipeline", pipeline)
    predictions = evaluate(dataset, port)
    asked = [qa["qid"] for line in lines[1:] for qa in json.loads(line)["qas"]]
    assert list(predictions) == asked and any(predictions.values())

    assert call("run", folder, tmp_path / "run", "--task", "mrqa", "--pipeline", pipeline)[0] == 0
    assert json.loads((tmp_path / "run" / "predictions.json").read_bytes()) == predictions
    server.send_signal(signal.SIGTERM)
    out, err = server.communicate(timeout=60)
    assert (server.returncode, out, err) == (143, "", "")


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_it_with_connections_open(serve, signum, code):
    server, port = serve()
    with socket.create_connection(("127.0.0.1", port)):
        server.send_signal(signum)
        _, err = server.communicate(timeout=60)
    assert server.returncode == code and "Traceback" not in err


def test_a_kill_loses_no_turn_that_was_answered(serve):
    server, port = serve()
    first = ask(port, "/api/turn", {"question": "Who wrote Faust?"})
    ask(port, "/api/turn", {"question": "When?", "conversation": first["conversation"]})
    server.kill()
    server.wait()
    _, port = serve()
    kept = ask(port, f"/api/conversations/{first['conversation']}")
    assert [turn["question"] for turn in kept["turns"]] == ["Who wrote Faust?", "When?"] and kept["turns"][0] == first


def test_a_port_in_use_is_said_before_anything_is_loaded(call, pipeline):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, out, err = call("serve", "--port", port, "--pipeline", pipeline)
    assert code == 2 and out == ""
    assert f"127.0.0.1, port {port}" in err and "in use" in err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--pipeline", "talk"], "talk: searches a collection; name one with --collection"),
        (["--pipeline", "tlak"], "tlak"),
        (["--without-keys", "--host", "no-such-host.invalid"], "cannot listen on no-such-host.invalid, port 0"),
        (["--host", "0.0.0.0"], "it has no keys"),
        (["--config", "nowhere.yaml"], "No such file"),
        (["--collection", "nowhere"], "nowhere"),
    ],
)
def test_mistakes(call, arguments, line):
    code, _, err = call("serve", *(() if "--port" in arguments else ("--port", 0)), *arguments)
    assert code == 2 and line in err and "Traceback" not in err


@pytest.mark.parametrize(
    ("name", "removed", "message"),
    [("mute.yaml", ", answers: builder.answers", "writes answers"), ("own-passages.yaml", "", "same name")],
)
def test_pipelines_that_cannot_be_served(call, pipeline, tmp_path, name, removed, message):
    other = tmp_path / name
    other.write_text(pipeline.read_text().replace(removed, ""), encoding="utf-8")
    code, _, err = call("serve", "--port", 0, "--pipeline", pipeline, "--pipeline", other)
    assert code == 2 and message in err


def test_without_the_extra(call, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "uvicorn" else object())
    code, _, err = call("serve")
    assert code == 2 and "uvicorn" in err and "convqa[server]" in err


def test_the_default_collection_and_further_host_names(call, monkeypatch):
    from convqa.server import app

    served = []
    monkeypatch.setattr(app, "run", lambda config, *_: served.append(config))
    monkeypatch.setenv("CONVQA_COLLECTION", "library")
    assert call("serve", "--allow-host", "host.docker.internal")[0] == 0
    assert call("serve", "--collection", "other")[0] == 0
    assert [(config.collection, config.hosts) for config in served] == [
        ("library", ["host.docker.internal"]),
        ("other", []),
    ]


def test_headers_beyond_the_limit_are_not_read(serve):
    _, port = serve()
    for length, expected in ((60_000, 200), (70_000, 431), (300_000, 431), (3_000_000, 400)):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.settimeout(20)
            try:
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: " + b"a" * length + b"\r\n\r\n")
                status = int(client.recv(1000).split()[1])
            except ConnectionError:  # the server closed while the client was sending
                assert length > 1_000_000
            else:
                assert status == expected, length
