"""A run's responses are read back in the order of conversations, one group at a time."""

from __future__ import annotations

import tracemalloc

import orjson
import pytest

from convqa.domain import Answer, Response, TurnId
from convqa.driver.journal import Journal
from convqa.driver.responses import read_responses
from convqa.driver.waves import Wave
from convqa.errors import InputError


def answered(conversation, number, text="It is so."):
    return Response(TurnId(conversation, number), answer=Answer("answer", text))


def journal(folder, waves):
    made = Journal(folder / "responses.jsonl")
    for group, number, responses in waves:
        made.append(Wave(group, number, tuple(responses), ((0, 0),) * len(responses)))
    made.close()


def test_conversations_come_whole_and_in_the_order_of_the_input(tmp_path):
    first = [answered("b", 1), answered("a", 1)]
    journal(tmp_path, [(0, 0, first), (0, 1, [answered("b", 2)]), (1, 0, [answered(3, 1)])])
    assert list(read_responses(tmp_path)) == [answered("b", 1), answered("b", 2), answered("a", 1), answered(3, 1)]


def test_turns_that_were_answered_again_stand_in_their_conversations(tmp_path):
    journal(
        tmp_path,
        [
            (0, 0, [answered("a", 1), answered("b", 1)]),
            (1, 0, [answered("c", 1)]),
            (0, 1, [answered("b", 2)]),
            (0, 1, [answered("a", 2)]),
        ],
    )
    assert [str(response.id) for response in read_responses(tmp_path)] == ["a_1", "a_2", "b_1", "b_2", "c_1"]


def test_a_folder_without_a_run(tmp_path):
    with pytest.raises(InputError, match=r"no run: it has no responses\.jsonl"):
        list(read_responses(tmp_path))
    with pytest.raises(InputError, match="no run: there is no such folder"):
        list(read_responses(tmp_path / "none"))
    (tmp_path / "responses.jsonl").touch()
    with pytest.raises(InputError, match="holds no response yet"):
        list(read_responses(tmp_path))


def test_a_run_that_is_not_finished_is_read_and_said(tmp_path, caplog):
    journal(tmp_path, [(0, 0, [answered(1, 1)])])
    with (tmp_path / "responses.jsonl").open("ab") as file:
        file.write(b'{"batch": [0, 1, 2], "half a line')
    for status, said in [("unfinished", True), ("done", False)]:
        caplog.clear()
        (tmp_path / "run.meta.json").write_bytes(orjson.dumps({"status": status}))
        assert list(read_responses(tmp_path)) == [answered(1, 1)]
        assert ("status of this run is unfinished" in caplog.text) == said


def test_a_run_that_lacks_turns_is_refused_before_any_is_read(tmp_path):
    journal(tmp_path, [(0, 0, [answered(1, 1)]), (1, 0, [answered(2, 1)])])
    (tmp_path / "run.meta.json").write_bytes(orjson.dumps({"status": "done", "counts": {"turns": 3}}))
    with pytest.raises(InputError, match="holds 2 of the 3 turns that the run answered"):
        next(read_responses(tmp_path))


def test_memory_holds_only_the_place_of_each_turn(tmp_path):
    peaks = []
    for groups in (5, 50):
        folder = tmp_path / str(groups)
        folder.mkdir()
        journal(
            folder, [(group, 0, [answered(f"{group}-{n}", 1, "x" * 2000) for n in range(8)]) for group in range(groups)]
        )
        tracemalloc.start()
        assert sum(1 for _ in read_responses(folder)) == 8 * groups
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 300 * 8 * 45  # bytes; a response has 2,000 and more
