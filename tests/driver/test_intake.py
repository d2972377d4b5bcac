"""A run's input on disk: the same as it was read, walked as often as needed, and never whole in memory."""

from __future__ import annotations

import hashlib
import os
import tracemalloc
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convqa.domain import Conversation, Exchange, Passage, Turn, TurnId
from convqa.driver.intake import Intake
from convqa.errors import InputError, StorageFull

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
exchanges = st.builds(Exchange, texts, texts, st.none() | texts, st.sampled_from(["answered", "asked", "failed"]))
meta = st.dictionaries(texts, st.integers(-(2**63), 2**63 - 1) | st.booleans() | texts, max_size=2)
passages = st.builds(Passage, texts, texts, texts, texts, meta)
ids = st.integers(-(2**63), 2**63 - 1) | texts


@st.composite
def talks(draw):
    id = draw(ids)
    turns = [
        Turn(TurnId(id, number), draw(texts), tuple(draw(st.lists(exchanges, max_size=2))),
             draw(st.none() | st.lists(passages, max_size=2).map(tuple)), draw(texts), draw(texts))
        for number in range(draw(st.integers(0, 3)))
    ]  # fmt: skip
    return Conversation(id, tuple(turns))


@settings(deadline=None)
@given(st.lists(talks(), max_size=5))
def test_what_is_walked_is_what_was_read(tmp_path_factory, conversations):
    with closing(Intake(iter(conversations), tmp_path_factory.getbasetemp())) as intake:
        assert list(intake) == conversations == list(intake)
        assert (intake.conversations, intake.turns) == (len(conversations), sum(len(t.turns) for t in conversations))
        texts = "".join(map(repr, conversations))
        assert intake.digest == hashlib.sha256(texts.encode()).hexdigest()


def talk(number, text="x"):
    return Conversation(number, (Turn(TurnId(number, 1), text),))


def test_two_walks_at_once_do_not_disturb_each_other(tmp_path):
    with closing(Intake(map(talk, range(20)), tmp_path)) as intake:
        one, other = iter(intake), iter(intake)
        assert [next(one).id, next(one).id, next(other).id, next(one).id, next(other).id] == [0, 1, 0, 2, 1]
        assert [item.id for item in other] == list(range(2, 20))
    assert list(tmp_path.iterdir()) == []


def test_memory_holds_one_at_a_time(tmp_path):
    text = "x" * 10_000
    tracemalloc.start()
    large = (talk(number, text + str(number)) for number in range(500))  # 5 MB
    with closing(Intake(large, tmp_path)) as intake:
        assert sum(1 for _ in intake) == 500
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1_000_000


def test_a_mistake_in_the_input_comes_as_it_is(tmp_path):
    def read():
        yield talk(1)
        raise InputError("line 2: no")

    with pytest.raises(InputError, match="line 2: no"):
        Intake(read(), tmp_path)


def test_a_full_disk_and_a_place_that_cannot_be_written(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"the copy of the input in .*absent: cannot be written"):
        Intake([], tmp_path / "absent")

    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    full = open("/dev/full", "w+b")  # noqa: SIM115 - closing it fails too, as on a full disk
    monkeypatch.setattr("convqa.driver.intake.tempfile.TemporaryFile", lambda dir: full)
    with pytest.raises(StorageFull, match=r"the copy of the input in .*No space left on device"):
        Intake([talk(1)], tmp_path)
    assert full.closed
