"""Seeded loops of kills, flipped bits and mangled requests. docs/reference/after-a-kill.md has their counts."""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from convqa.domain import Passage, Query
from convqa.errors import ConvqaError, RunError
from convqa.stores import check_store, create_store, open_store
from convqa.stores.base import Encoder, SearchParams

pytestmark = pytest.mark.hostile
SEED = 20261127
FLIPS = 60
KILLS = 8
REQUESTS = 400
WORDS = [f"word{number}" for number in range(2000)]


def passages(first, count):
    chance = random.Random(first)
    return [Passage(f"p{number}", " ".join(chance.choices(WORDS, k=40)), "A title") for number in range(first, count)]


def program(*arguments):
    return [sys.executable, "-m", "convqa", *map(str, arguments)]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVQA_HOME", str(tmp_path / "home"))
    return tmp_path


def test_no_flipped_bit_becomes_a_quote(tmp_path):
    """Of a flipped bit, a passage is the same or is refused; check_store sees whatever changes a search."""
    chance = random.Random(SEED)
    good = tmp_path / "good"
    encoder = Encoder("mini", "abc", 8)
    vectors = np.random.default_rng(SEED).normal(size=(200, 8))
    with create_store(str(good)) as store:
        store.add(passages(0, 200))
        store.add_vectors([f"p{number}" for number in range(200)], vectors, encoder)
    texts = {passage.id: passage.text for passage in open_store(str(good)).scan()}
    files = [path for path in sorted(good.rglob("*")) if path.is_file() and path.stat().st_size]

    def searched(folder):
        store = open_store(str(folder))
        found = store.search([Query(word) for word in WORDS[:40]], 50, SearchParams())
        found += store.search_vectors(vectors[:20], 20, encoder)
        return [[(hit.id, hit.score) for hit in ranking.hits] for ranking in found]

    right = searched(good)
    refused = wrong = 0
    for number in range(FLIPS):
        # Each has a place of its own, as open stores are shared.
        bad = tmp_path / f"bad{number}"
        shutil.copytree(good, bad)
        file = bad / chance.choice(files).relative_to(good)
        content = bytearray(file.read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        file.write_bytes(content)
        try:
            found = open_store(str(bad)).fetch(list(texts))
            assert all(passage is None or passage.text == texts[passage.id] for passage in found)
            is_right = searched(bad) == right and None not in found
            wrong += not is_right
        except (ConvqaError, RunError) as error:
            refused += 1
            # The manifest may name another encoder.
            is_right = "has vectors of" in str(error)
        if not is_right:
            with pytest.raises((ConvqaError, RunError)):
                check_store(str(bad))
    assert refused and wrong and refused + wrong < FLIPS


def test_killed_additions_leave_a_collection_that_is_right(home):
    chance = random.Random(SEED)
    folder = home / "library"
    with create_store(str(folder)) as store:
        store.add(passages(0, 100))
    more = home / "more.jsonl"
    more.write_text("".join(json.dumps(passage.to_json()) + "\n" for passage in passages(100, 6000)))
    command = program("index", more, "--add", "--no-vectors", "--collection", folder)
    for _ in range(KILLS):
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.3, 2.5))
        assert check_store(str(folder)) == []  # while it is written
        running.send_signal(signal.SIGKILL)
        running.wait()
        assert check_store(str(folder)) == []
        assert open_store(str(folder)).info().count in {100, 6000}
    subprocess.run(command, check=True, capture_output=True)
    assert open_store(str(folder)).info().count == 6000 and check_store(str(folder)) == []


def served(home):
    """Start a server; return its process and port."""
    command = program("serve", "--port", 0, "--pipeline", "copy-bm25", "--collection", home / "library")
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    line = server.stdout.readline()
    return server, int(line.split(":")[2].split("/")[0])


def asked(port, body, method="POST", path="/api/turn"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
    reply = json.loads(connection.getresponse().read())
    connection.close()
    return reply


@pytest.fixture
def library(home):
    with create_store(str(home / "library")) as store:
        store.add([Passage("faust", "Faust is a tragic play by Johann Wolfgang von Goethe.")])
    return home


def test_killed_servers_lose_no_turn_that_was_answered(library):
    conversation = None
    for turns in range(1, KILLS + 1):
        server, port = served(library)
        body = {"question": f"Who wrote Faust {turns}?"} | ({"conversation": conversation} if conversation else {})
        conversation = asked(port, body)["conversation"]
        server.send_signal(signal.SIGKILL)
        server.wait()
        server.stdout.close()
    server, port = served(library)
    kept = asked(port, None, "GET", f"/api/conversations/{conversation}")
    assert [turn["number"] for turn in kept["turns"]] == list(range(1, KILLS + 1))
    server.terminate()
    server.wait()
    server.stdout.close()


def test_mangled_requests_end_in_a_reply_or_a_closed_connection(library):
    chance = random.Random(SEED)
    server, port = served(library)
    good = b'{"question": "Who wrote Faust?"}'
    head = b"POST /api/turn HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    request = head % len(good) + good
    for _ in range(REQUESTS):
        mangled = bytearray(request)
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(mangled))
            choice = chance.randrange(3)
            if choice == 0:
                mangled[at] = chance.randrange(256)
            elif choice == 1:
                del mangled[at : at + chance.randrange(1, 20)]
            else:
                mangled[at:at] = chance.randbytes(chance.randrange(1, 40))
        with socket.create_connection(("127.0.0.1", port)) as client, suppress(ConnectionError):
            client.settimeout(5)
            client.sendall(mangled)
            client.shutdown(socket.SHUT_WR)
            answer = client.recv(64)
            assert not answer or answer.startswith(b"HTTP/1.1 ")
            assert not answer.startswith(b"HTTP/1.1 5"), bytes(mangled)
    assert asked(port, {"question": "Who wrote Faust?"})["answer"]["kind"] == "answer"
    memory = int(Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    assert memory < 1_000_000_000
    server.terminate()
    server.wait()
    server.stdout.close()
