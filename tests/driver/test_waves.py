"""The walk through groups and waves, with a stub in the pipeline's place (the real one: tests/driver/test_run.py)."""

from __future__ import annotations

import gc
import logging
import math

import pytest

from convqa.domain import Answer, Answers, Conversation, Failure, Rewrite, Rewrites, Turn, TurnId
from convqa.driver import waves
from convqa.driver.waves import drive
from convqa.errors import InputError, StorageFull, StoreUnavailable
from convqa.pipeline.pipeline import Outputs


class Echo:
    """Answers with the number of exchanges that it sees; fails on the question "bad"; keeps what it was given."""

    def __init__(self, away=0, error=StoreUnavailable):
        self.waves = []
        self.away = away
        self.error = error

    def run(self, turns, made=None):
        if self.away:
            self.away -= 1
            raise self.error("the store is away.")
        self.waves.append([str(turn.id) for turn in turns])
        answers = [
            Failure("reader", "ValueError", "bad")
            if turn.question == "bad"
            else Answer("answer", f"{len(turn.history)}")
            for turn in turns
        ]
        rewrites = Rewrites(tuple(Rewrite.unchanged(turn.question) for turn in turns))
        return Outputs(rewrites, None, None, Answers(tuple(answers)), {"reader": 1.0})


def talks(*lengths):
    return [
        Conversation(no, tuple(Turn(TurnId(no, n), f"q{n}") for n in range(1, length + 1)))
        for no, length in enumerate(lengths, 1)
    ]


def test_groups_are_walked_wave_by_wave():
    pipeline = Echo()
    got = list(drive(pipeline, talks(2, 1, 3, 1), batch_size=2))
    assert pipeline.waves == [["1_1", "2_1"], ["1_2"], ["3_1", "4_1"], ["3_2"], ["3_3"]]
    assert [(wave.group, wave.number) for wave in got] == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]
    assert [response.answer.text for wave in got for response in wave.responses] == ["0", "0", "1", "0", "0", "1", "2"]


@pytest.mark.parametrize("size", [1, 7, 64])
def test_every_turn_sees_its_own_conversation_only(size):
    answers = {r.id: r.answer for wave in drive(Echo(), talks(3, 2, 1, 3), batch_size=size) for r in wave.responses}
    assert {id: answer.text for id, answer in answers.items()} == {id: str(id.number - 1) for id in answers}
    assert len(answers) == 9


def test_one_bad_turn_fails_alone_and_is_marked_in_the_history():
    talk = Conversation(1, (Turn(TurnId(1, 1), "bad"), Turn(TurnId(1, 2), "q")))
    first, second = (response for wave in drive(Echo(), [talk]) for response in wave.responses)
    assert first.error == Failure("reader", "ValueError", "bad") and first.answer is None
    assert first.rewrite is not None
    assert second.answer.text == "1"
    assert math.isclose(second.timings["reader"], 1.0)


def test_turns_done_before_only_feed_the_history():
    pipeline = Echo()
    all_of_it = {r.id: r for wave in drive(pipeline, talks(3, 3)) for r in wave.responses}
    pipeline.waves.clear()
    done = {id: response for id, response in all_of_it.items() if id.number < 3}
    again = {r.id: r for wave in drive(pipeline, talks(3, 3), done=done.get) for r in wave.responses}
    assert pipeline.waves == [["1_3", "2_3"]]
    assert again == {id: response for id, response in all_of_it.items() if id.number == 3}


def test_a_store_that_comes_back_in_time_is_waited_for(monkeypatch, caplog):
    naps = []
    monkeypatch.setattr(waves.time, "sleep", naps.append)
    with caplog.at_level(logging.WARNING):
        got = list(drive(Echo(away=2), talks(1), wait=60))
    assert len(got) == 1 and naps == [1.0, 2.0]
    assert "Trying again" in caplog.text


def test_waiting_ends_when_the_store_was_away_long_enough(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(waves.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(waves.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    pipeline = Echo(away=1000)
    with pytest.raises(StoreUnavailable):
        list(drive(pipeline, talks(1), wait=120))
    assert now[0] == pytest.approx(120)
    assert 10 < 1000 - pipeline.away < 20


def test_the_wait_counts_from_the_outage_and_not_from_the_waves_start(monkeypatch):
    now = [0.0]

    class Late(Echo):
        def run(self, turns, made=None):
            now[0] += 1000
            return super().run(turns)

    monkeypatch.setattr(waves.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(waves.time, "sleep", lambda seconds: None)
    assert len(list(drive(Late(away=1), talks(1), wait=5))) == 1


def test_a_full_disk_is_not_waited_for():
    with pytest.raises(StorageFull):
        list(drive(Echo(away=1, error=StorageFull), talks(1)))


def test_the_garbage_collector_is_as_it_was_afterwards():
    before = gc.get_threshold()
    walk = drive(Echo(), talks(2))
    next(walk)
    assert gc.get_threshold()[0] > before[0]
    list(walk)
    assert gc.get_threshold() == before
    left = drive(Echo(), talks(2))
    next(left)
    left.close()
    assert gc.get_threshold() == before


def test_wrong_settings_are_refused():
    with pytest.raises(InputError, match="batch size: expected 1 or more, got 0"):
        list(drive(Echo(), talks(1), batch_size=0))
