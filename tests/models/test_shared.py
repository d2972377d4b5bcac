"""Results that several runs share: made once, looked up with the seconds that they took."""

from __future__ import annotations

import time

import numpy as np
import pytest

from convqa.models import shared
from convqa.models.shared import SharedOutputs, clock, sharing
from convqa.models.types import Network, TokenSequence


@pytest.fixture
def results(tmp_path, monkeypatch):
    made = SharedOutputs(tmp_path / "shared.sqlite", "1")
    monkeypatch.setattr(shared, "_shared", made)
    return made


def outputs(results, ids, calls, owner="model", seconds=0.0):
    """Return an output for each sequence of one token."""

    def run(sequences):
        time.sleep(seconds)
        calls.append([tokens.ids[0] for tokens in sequences])
        return [[np.full(2, tokens.ids[0], np.float32)] for tokens in sequences]

    found = results.outputs(owner, [TokenSequence([id], [0]) for id in ids], run)
    assert [array.tolist() for (array,) in found] == [[id, id] for id in ids]


def test_what_was_made_is_looked_up(results, tmp_path):
    calls = []
    outputs(results, [1, 2, 1], calls)
    outputs(results, [2, 3], calls)
    outputs(SharedOutputs(tmp_path / "shared.sqlite", "1"), [3, 4], calls)
    assert calls == [[1, 2], [3], [4]]


def test_another_owner_and_another_salt_have_results_of_their_own(results, tmp_path):
    calls = []
    other_salt = SharedOutputs(tmp_path / "shared.sqlite", "2")
    for made, owner in ((results, "model"), (results, "other"), (other_salt, "model")):
        outputs(made, [1], calls, owner)
    assert calls == [[1]] * 3


def test_a_result_counts_with_the_seconds_that_it_took(results, tmp_path, monkeypatch):
    outputs(results, [1, 2], [], seconds=0.05)
    again = SharedOutputs(tmp_path / "shared.sqlite", "1")
    monkeypatch.setattr(shared, "_shared", again)
    start = clock()
    outputs(again, [1, 2], [], seconds=0.05)
    assert again.seconds == pytest.approx(0.05, abs=0.03)
    assert clock() - start > 0.04


def test_a_network_runs_each_sequence_once_and_gives_the_same_bytes(results):
    calls = []

    def run(sequences):
        calls.append(len(sequences))
        return [[np.arange(len(one), dtype=np.float32), np.float32(one.ids[0])] for one in sequences]

    network = sharing(Network(None, run), "model")
    some = [TokenSequence([5, 6, 7], [0, 0, 0]), TokenSequence([5, 6, 7], [0, 0, 1]), TokenSequence([8], [0])]
    first, again = network.run(some), network.run(some)
    assert calls == [3]
    for before, after in zip(first, again, strict=True):
        assert [np.asarray(one).tobytes() for one in before] == [one.tobytes() for one in after]
        assert [np.shape(one) for one in before] == [one.shape for one in after]


def test_nothing_is_looked_up_unless_a_process_shares():
    network = Network(None, len)
    assert sharing(network, "model") is network
    assert shared.shared() is None
