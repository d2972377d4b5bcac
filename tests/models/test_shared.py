"""Results that several runs share: made once, looked up with the seconds that they took."""

from __future__ import annotations

import time

import numpy as np
import pytest

from convqa.models import shared
from convqa.models.shared import Shared, clock, sharing
from convqa.models.tokens import Tokens
from convqa.models.types import Network


@pytest.fixture
def results(tmp_path, monkeypatch):
    made = Shared(tmp_path / "shared.sqlite", "1")
    monkeypatch.setattr(shared, "_shared", made)
    return made


def texts(results, inputs, calls, owner="upper"):
    def make(places):
        calls.append(places)
        return [inputs[place].upper() for place in places]

    return results.each(owner, inputs, make, bytes, bytes)


def test_what_was_made_is_looked_up(results, tmp_path):
    calls = []
    assert texts(results, [b"a", b"b", b"a"], calls) == [b"A", b"B", b"A"]
    assert texts(results, [b"b", b"c"], calls) == [b"B", b"C"]
    assert calls == [[0, 1], [1]]
    assert texts(Shared(tmp_path / "shared.sqlite", "1"), [b"c", b"d"], calls) == [b"C", b"D"]
    assert calls[2:] == [[1]]


def test_another_owner_and_another_salt_have_results_of_their_own(results, tmp_path):
    calls = []
    for made, owner in ((results, "upper"), (results, "other"), (Shared(tmp_path / "shared.sqlite", "2"), "upper")):
        texts(made, [b"a"], calls, owner)
    assert calls == [[0]] * 3


def test_a_result_counts_with_the_seconds_that_it_took_once(results, tmp_path, monkeypatch):
    def slow(places):
        time.sleep(0.05)
        return [b"made"] * len(places)

    results.each("slow", [b"a", b"b"], slow, bytes, bytes)
    again = Shared(tmp_path / "shared.sqlite", "1")
    monkeypatch.setattr(shared, "_shared", again)
    start = clock()
    for _ in range(2):
        again.each("slow", [b"a", b"b"], slow, bytes, bytes)
    assert again.seconds == pytest.approx(0.05, abs=0.03)
    assert clock() - start > 0.04


def test_a_network_runs_each_sequence_once_and_gives_the_same_bytes(results):
    calls = []

    def run(sequences):
        calls.append(len(sequences))
        return [[np.arange(len(one), dtype=np.float32), np.float32(one.ids[0])] for one in sequences]

    network = sharing(Network(None, run), "model")
    some = [Tokens([5, 6, 7], [0, 0, 0]), Tokens([5, 6, 7], [0, 0, 1]), Tokens([8], [0])]
    first, again = network.run(some), network.run(some)
    assert calls == [3]
    for before, after in zip(first, again, strict=True):
        assert [np.asarray(one).tobytes() for one in before] == [one.tobytes() for one in after]
        assert [np.shape(one) for one in before] == [one.shape for one in after]


def test_nothing_is_looked_up_unless_a_process_shares():
    network = Network(None, len)
    assert sharing(network, "model") is network
    assert shared.shared() is None
