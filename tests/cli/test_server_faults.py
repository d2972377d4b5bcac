"""A server that fails under ``convqa run``: what is finished stays, and the run ends in an undisturbed one's bytes."""

from __future__ import annotations

import json
import re
import threading

import pytest

from convqa.indexing import index_sources
from tests.cli.conftest import EXAMPLE

pytestmark = pytest.mark.services

AWAY = "nothing answers at http://127.0.0.1:.*Finished work is kept. Run the same command again"
FAULTS = {
    "break": (1, AWAY),
    "half": (1, AWAY),
    429: (1, "status 429: told to fail.*[Tt]ry again.*Finished work is kept"),
    500: (1, "status 500: told to fail.*Finished work is kept"),
    503: (1, "status 503: told to fail.*Finished work is kept"),
    "garbled": (2, "answers, but not as Elasticsearch does: is it OpenSearch, or a proxy"),
    "page": (2, "answers, but not as Elasticsearch does: is it OpenSearch, or a proxy"),
}
"""What the proxy does to each search; the run's exit code, and what it says."""


@pytest.fixture
def proxy(index_url, proxying):
    """The proxy before the server that holds the example's passages, in an index of this test."""
    index_sources([EXAMPLE / "passages.jsonl.gz"], index_url)
    server, _, index = index_url.rpartition("/")
    with proxying(server) as proxy:
        proxy.real, proxy.collection = index_url, f"{proxy.url}/{index}"
        yield proxy


@pytest.fixture
def command(small, proxy):
    """``command(output, *options)``: a run through the proxy."""
    options = ("--collection", proxy.collection, "--pipeline", "expansion-bm25", "--limit", 2)
    return lambda output, *more: ("run", small, output, *options, *more)


def run_of(folder):
    return (folder / "run.json").read_bytes()


def answered(folder):
    """Turns in the journal."""
    return len((folder / "responses.jsonl").read_bytes().splitlines())


@pytest.fixture
def whole(call, command, proxy, tmp_path):
    """The folder of a run that nothing disturbed; the proxy counts from 0 again."""
    assert call(*command(tmp_path / "whole"))[0] == 0
    proxy.counts.clear()
    return tmp_path / "whole"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_fails_in_the_middle_stops_the_run_which_goes_on(call, command, proxy, whole, tmp_path, fault):
    code, message = FAULTS[fault]
    proxy.script = lambda path, number: fault if path == "_msearch" and number > 2 else None
    ended, _, err = call(*command(tmp_path / "out", "--wait", 0))
    assert ended == code and re.search(message, err) and "Traceback" not in err, err
    assert 0 < answered(tmp_path / "out") < answered(whole) and not (tmp_path / "out" / "run.json").exists()
    proxy.script = lambda path, number: None
    code, out, _ = call(*command(tmp_path / "out"))
    assert code == 0 and "from before" in out and "0 failed" in out
    assert run_of(tmp_path / "out") == run_of(whole)


@pytest.mark.parametrize("seconds", [6.0, pytest.param(60.0, marks=pytest.mark.slow)])
def test_a_server_that_is_away_and_comes_back_is_waited_for(call, command, proxy, whole, tmp_path, seconds):
    def script(path, number):
        if path == "_msearch" and number == 3:
            proxy.stop()
            threading.Timer(seconds, proxy.start).start()
        return

    proxy.script = script
    code, out, err = call(*command(tmp_path / "out"))
    assert code == 0 and "0 failed" in out, err
    assert "nothing answers at" in err and "Trying again in 1 s (giving up in 1" in err
    assert run_of(tmp_path / "out") == run_of(whole)


@pytest.mark.slow
def test_a_server_that_takes_ten_seconds_an_answer_is_waited_for(call, command, proxy, small, tmp_path):
    records = json.loads((small / "questions.json").read_text(encoding="utf-8"))
    (small / "questions.json").write_text(json.dumps(records[:3]), encoding="utf-8")
    assert call(*command(tmp_path / "whole"))[0] == 0
    proxy.script = lambda path, number: 10.0 if path == "_msearch" else None
    code, out, err = call(*command(tmp_path / "out", "--wait", 0))
    assert code == 0 and "warning" not in err and "0 failed" in out
    assert run_of(tmp_path / "out") == run_of(tmp_path / "whole")


def test_a_server_that_is_down_at_the_start(call, command, proxy, tmp_path):
    proxy.stop()
    code, _, err = call(*command(tmp_path / "out"))
    assert code == 1 and "nothing answers at" in err and "Start Elasticsearch" in err
    assert not (tmp_path / "out").exists()


def test_an_index_that_is_replaced_under_a_run_stops_it(call, command, proxy, whole, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "new", "text": "What does a physician\'s assistant cost?"}\n')

    def script(path, number):
        if path == "_msearch" and number == 3:
            index_sources([other], proxy.real, replace=True)
        return

    proxy.script = script
    code, _, err = call(*command(tmp_path / "out"))
    assert code == 1 and "was changed, indexed anew or deleted" in err
    done = (tmp_path / "out" / "responses.jsonl").read_bytes()
    code, _, err = call(*command(tmp_path / "out"))
    assert code == 2 and "differs from this one in: collection" in err and "--restart" in err
    assert (tmp_path / "out" / "responses.jsonl").read_bytes() == done != b""
    # The passages that it was begun with make it go on, in whatever index they are.
    index_sources([EXAMPLE / "passages.jsonl.gz"], proxy.real, replace=True)
    proxy.script = lambda path, number: None
    assert call(*command(tmp_path / "out"))[0] == 0
    assert run_of(tmp_path / "out") == run_of(whole)
