"""A cluster that loses a node answers as before, and when it is back too; loads and runs lose nothing by it."""

from __future__ import annotations

import json
import threading
import urllib.request
import uuid
from itertools import pairwise

import pytest

from convqa.domain import Passage, Query
from convqa.errors import StoreUnavailable
from convqa.indexing import read_passages
from convqa.stores import create_store, open_store
from convqa.stores.base import SearchParams
from convqa.stores.elasticsearch import index, writer

pytestmark = [pytest.mark.services, pytest.mark.slow]

WORDS = ["river", "bridge", "tower", "wall", "gate", "market", "church", "museum", "garden", "station"]
PASSAGES = [
    Passage(f"p{number}", " ".join(WORDS[place % 10] for place in range(number % 7, number % 23 + 9)))
    for number in range(600)
]


def test_rankings_are_equal_before_and_after_a_node_is_killed_and_revived(elasticsearch_cluster):
    url = f"{elasticsearch_cluster.url}/t-{uuid.uuid4().hex[:12]}"
    with create_store(url, "en", settings={"shards": 3, "replicas": 1}) as made:
        made.add(PASSAGES)
    elasticsearch_cluster.ask("/_cluster/health?wait_for_status=green&timeout=60s")
    store = open_store(url)
    queries = [Query(" ".join(pair)) for pair in pairwise(WORDS)]
    before = store.search(queries, 50, SearchParams())
    assert all(len(ranking.hits) == 50 for ranking in before)
    victim = elasticsearch_cluster.members[2]
    elasticsearch_cluster.kill(victim)
    with pytest.raises(OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{victim.http}", timeout=10)
    assert store.search(queries, 50, SearchParams()) == before
    assert sum(1 for _ in store.scan()) == 600
    elasticsearch_cluster.revive(victim)
    assert elasticsearch_cluster.ask("/_cluster/health")["number_of_nodes"] == 3
    assert store.search(queries, 50, SearchParams()) == before


@pytest.fixture
def collection(elasticsearch_cluster):
    """The URL of a collection that does not exist yet, by a node that no test kills."""
    elasticsearch_cluster.ask("/_cluster/health?wait_for_nodes=3&timeout=60s")
    return f"{elasticsearch_cluster.url_of(elasticsearch_cluster.members[0])}/t-{uuid.uuid4().hex[:12]}"


def load(url, events):
    """Make a collection of 6,000 passages on three shards; ``events``: place -> what happens before that passage."""

    def passages():
        for number in range(6000):
            events.get(number, lambda: None)()
            yield Passage(f"p{number}", f"passage {number} of {WORDS[number % 10]}")

    with create_store(url, "en", settings={"shards": 3, "replicas": 1}) as made:
        made.add(passages())


def holds_all(url):
    store = open_store(url)
    return sorted(passage.id for passage in store.scan()) == sorted(f"p{number}" for number in range(6000))


@pytest.fixture
def small_requests(monkeypatch):
    monkeypatch.setattr(writer, "PASSAGES_PER_REQUEST", 250)


@pytest.mark.usefixtures("small_requests")
def test_a_load_waits_for_a_node_that_is_killed_and_comes_back(elasticsearch_cluster, collection):
    victim = elasticsearch_cluster.members[2]
    back = threading.Thread(target=elasticsearch_cluster.revive, args=(victim,))

    def kill():
        elasticsearch_cluster.kill(victim)
        back.start()

    load(collection, {3000: kill})
    back.join()
    assert holds_all(collection)


@pytest.mark.usefixtures("small_requests")
def test_a_load_stops_without_a_node_and_starts_again_with_it(elasticsearch_cluster, collection, monkeypatch):
    victim = elasticsearch_cluster.members[2]
    with monkeypatch.context() as patch:
        patch.setattr(index, "LOAD_PATIENCE", 2.0)
        patch.setattr(index, "MAX_RETRIES", 1)
        with pytest.raises(StoreUnavailable, match=r"try again|did not answer"):
            load(collection, {3000: lambda: elasticsearch_cluster.kill(victim)})
    elasticsearch_cluster.revive(victim)
    load(collection, {})
    assert holds_all(collection)


@pytest.fixture
def run(call, example, tmp_path, collection, elasticsearch_cluster, proxying):
    """``run(output, node)``: two conversations by way of a node; the example's passages have a replica.

    ``run.script``: what happens at each search of the proxy that stands before the node.
    """
    records = json.loads((example / "questions.json").read_text(encoding="utf-8"))
    chosen = [record for record in records if record["Conversation_no"] <= 2]
    (tmp_path / "questions.json").write_text(json.dumps(chosen), encoding="utf-8")
    with create_store(collection, "en", settings={"shards": 3, "replicas": 1}) as made:
        made.add(read_passages([example / "passages.jsonl.gz"]))
    elasticsearch_cluster.ask("/_cluster/health?wait_for_status=green&timeout=60s")

    def run_it(name, node, *options):
        with proxying(elasticsearch_cluster.url_of(node)) as proxy:
            proxy.script = run_it.script
            url = f"{proxy.url}/{collection.rpartition('/')[2]}"
            arguments = ("run", tmp_path / "questions.json", tmp_path / name, "--collection", url, *options)
            code, out, err = call(*arguments, "--pipeline", "expansion-bm25")
        file = tmp_path / name / "run.json"
        return code, out + err, file.read_bytes() if file.exists() else b""

    run_it.script = lambda path, number: None
    return run_it


def test_a_run_goes_on_without_a_node_that_is_killed(elasticsearch_cluster, run):
    first, _, victim = elasticsearch_cluster.members
    _, _, whole = run("whole", first)
    third = threading.Event()

    def script(path, number):
        if path == "_msearch" and number == 3:
            elasticsearch_cluster.kill(victim)
            third.set()

    run.script = script
    code, said, made = run("out", first)
    elasticsearch_cluster.revive(victim)
    assert third.is_set() and code == 0 and "0 failed" in said and made == whole != b""


def test_a_run_whose_own_node_is_killed_goes_on_by_way_of_another(elasticsearch_cluster, run):
    first, _, victim = elasticsearch_cluster.members
    _, _, whole = run("whole", first)

    def script(path, number):
        if path == "_msearch" and number == 3:
            elasticsearch_cluster.kill(victim)

    run.script = script
    code, said, made = run("out", victim, "--wait", 0)
    assert code == 1 and "nothing answers at" in said and "Run the same command again to continue" in said and not made
    run.script = lambda path, number: None
    code, said, made = run("out", first)
    elasticsearch_cluster.revive(victim)
    assert code == 0 and "from before" in said and "0 failed" in said and made == whole
