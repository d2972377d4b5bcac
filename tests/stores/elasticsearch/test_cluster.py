"""A cluster that loses a node answers as before, and when it is back too."""

from __future__ import annotations

import urllib.request
import uuid
from itertools import pairwise

import pytest

from convqa.domain import Passage, Query
from convqa.stores import create_store, open_store
from convqa.stores.base import SearchParams

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
