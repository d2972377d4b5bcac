"""``convqa mrqa-server`` as the task's evaluator meets it, and how it ends."""

from __future__ import annotations

import errno
import gzip
import http.client
import json
import signal
import socket
import time

import pytest

from convqa.server.mrqa import PredictServer

HEADER = {"header": {"dataset": "NewsQA", "split": "dev"}}


@pytest.fixture
def pipeline(root):
    return root / "tests" / "fixtures" / "own-passages.yaml"


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


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
def test_the_evaluator_gets_what_a_run_writes(process, call, pipeline, port, data, tmp_path, packed):
    pipeline = "mrqa" if packed else pipeline
    lines = [json.dumps(HEADER), *(data / "mrqa" / "NewsQA_sample.jsonl").read_text(encoding="utf-8").splitlines()[:2]]
    folder = tmp_path / "input"
    folder.mkdir()
    dataset = folder / ("NewsQA.jsonl.gz" if packed else "NewsQA.jsonl")
    text = "".join(f"{line}\n" for line in lines).encode()
    dataset.write_bytes(gzip.compress(text) if packed else text)
    server = process("mrqa-server", port, "--pipeline", pipeline)
    predictions = evaluate(dataset, port)
    asked = [qa["qid"] for line in lines[1:] for qa in json.loads(line)["qas"]]
    assert list(predictions) == asked and any(predictions.values())

    assert call("run", folder, tmp_path / "run", "--task", "mrqa", "--pipeline", pipeline)[0] == 0
    assert json.loads((tmp_path / "run" / "predictions.json").read_bytes()) == predictions
    server.send_signal(signal.SIGTERM)
    out, err = server.communicate(timeout=60)
    assert server.returncode == 143
    assert out == f"Answering on http://127.0.0.1:{port}/ (Ctrl-C ends it)\n"
    assert err == "convqa: error: terminated.\n"


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_it_with_connections_open(process, pipeline, signum, code):
    server = process("mrqa-server", 0, "--pipeline", pipeline)
    address = server.stdout.readline().split("/")[2].split(":")
    with socket.create_connection((address[0], int(address[1]))):
        server.send_signal(signum)
        _, err = server.communicate(timeout=60)
    assert server.returncode == code and "Traceback" not in err


def test_a_port_in_use_is_said_before_anything_is_loaded(call, pipeline):
    with PredictServer("127.0.0.1", 0) as other:
        other.listen(None)
        port = other.server_address[1]
        code, out, err = call("mrqa-server", port, "--pipeline", pipeline)
    assert code == 2 and out == ""
    assert err.startswith(f"convqa: error: 127.0.0.1, port {port}: cannot be listened to (") and "in use" in err


def test_pipelines_that_cannot_answer_contexts(call, pipeline, tmp_path):
    code, _, err = call("mrqa-server", 0, "--pipeline", "copy-bm25")
    assert code == 2 and "searches a collection" in err
    mute = tmp_path / "mute.yaml"
    mute.write_text(pipeline.read_text().replace(", answers: builder.answers", ""), encoding="utf-8")
    code, _, err = call("mrqa-server", 0, "--pipeline", mute)
    assert code == 2 and "makes no answers" in err


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_no_port(call, port):
    assert call("mrqa-server", "--", port)[0] == 2
