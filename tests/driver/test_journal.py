"""The journal keeps whole waves, and only those."""

from __future__ import annotations

import logging
import resource
import signal

import pytest

from convqa.domain import (
    Answer,
    Citation,
    Conversation,
    Failure,
    Hit,
    Passage,
    Query,
    Ranking,
    Reading,
    Response,
    Rewrite,
    Sentence,
    Span,
    Turn,
    TurnId,
)
from convqa.driver.journal import Journal
from convqa.driver.waves import Wave
from convqa.errors import StorageFull


@pytest.fixture
def opened(tmp_path):
    """Opens journals in the test's folder, and closes them behind it."""
    journals = []

    def open_journal(name="j"):
        journals.append(Journal(tmp_path / name))
        return journals[-1]

    yield open_journal
    for journal in journals:
        journal.close()


def response(no, number, error=None):
    text = "Goethe wrote Faust."
    cited = Passage("p", text, "Faust", "http://faust", {"year": 1808})
    return Response(
        TurnId(no, number),
        Rewrite("who wrote it", (Query("who wrote it", (("faust", 0.3),), 1.0),)),
        Ranking((Hit("p", 2.5, cited), Hit("é:/?,%", 1.25))),
        Reading((Span("p", 0, 19, text, 0.5),), 0.1),
        Answer("answer", text, (Sentence(text, (Citation("p", 0, 19),)),), score=0.5),
        {"reader": 0.001},
        error,
    )


def wave(number, *nos, error=None):
    return Wave(0, number, tuple(response(no, number + 1, error) for no in nos), ((1, 2),) * len(nos))


def test_responses_come_back_as_they_were(opened):
    journal = opened()
    journal.append(wave(0, 1, 2))
    journal.append(wave(1, 1))
    journal.close()
    again = opened()
    assert len(again) == 3 and (again.given, again.own) == (3, 6)
    assert list(again.responses([TurnId(2, 1), TurnId(1, 2)])) == [response(2, 1), response(1, 2)]
    assert again.get(TurnId(9, 9)) is None


def test_of_a_turn_without_an_answer_the_names_of_what_was_found_are_kept(opened):
    journal = opened()
    hits = tuple(Hit(f"p{n}", -n, Passage(f"p{n}", "text", f"title {n}", "url", {"a": 1})) for n in range(12))
    nothing = Response(TurnId(1, 1), ranking=Ranking(hits), answer=Answer("none", "", reason="no"))
    said = Response(TurnId(2, 1), ranking=Ranking(hits), answer=Answer("answer", "Yes."))
    journal.append(Wave(0, 0, (nothing, said), ((0, 0), (0, 0))))
    kept = [hit.passage for hit in journal.get(TurnId(1, 1)).ranking.hits]
    assert kept == [*(Passage(f"p{n}", "", f"title {n}", "url") for n in range(10)), None, None]
    assert all(hit.passage is None for hit in journal.get(TurnId(2, 1)).ranking.hits)


def test_a_kill_at_any_byte_leaves_whole_waves(tmp_path, opened):
    journal = opened()
    journal.append(wave(0, 1, 2))
    first = (tmp_path / "j").stat().st_size
    journal.append(wave(1, 1, 2))
    journal.close()
    whole = (tmp_path / "j").read_bytes()
    for cut in [*range(0, len(whole), 37), first, len(whole) - 1]:
        (tmp_path / "cut").write_bytes(whole[:cut])
        again = opened("cut")
        assert len(again) == (2 if cut >= first else 0)
        if cut >= first:
            again.append(wave(1, 1, 2))
            again.close()
            assert (tmp_path / "cut").read_bytes() == whole
        again.close()


def test_failed_turns_and_what_followed_them_are_forgotten(opened):
    journal = opened()
    journal.append(wave(0, 1, 2))
    journal.append(Wave(0, 1, (response(1, 2, Failure("reader", "E", "m")), response(2, 2)), ((0, 0), (0, 0))))
    journal.append(wave(2, 1, 2))
    talks = [Conversation(no, tuple(Turn(TurnId(no, n), "q") for n in (1, 2, 3))) for no in (1, 2)]
    journal.without_failures(talks)
    assert (journal.given, journal.own) == (3, 6)
    left = [id for talk in talks for id in (turn.id for turn in talk.turns) if journal.get(id)]
    assert left == [TurnId(1, 1), TurnId(2, 1), TurnId(2, 2), TurnId(2, 3)]
    journal.close()
    assert len(opened()) == 4


def test_a_full_disk_is_said_and_leaves_the_journal_as_it_was(opened, tmp_path):
    journal = opened()
    journal.append(wave(0, 1))
    size = (tmp_path / "j").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
    try:
        with pytest.raises(StorageFull, match="File too large"):
            journal.append(wave(1, 1))
        journal.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)
    again = opened()
    assert len(journal) == len(again) == 1
    again.append(wave(1, 1))
    assert len(opened()) == 2


def test_lone_surrogates_do_not_stop_a_run(opened):
    journal = opened()
    journal.append(Wave(0, 0, (Response(TurnId(1, 1), error=Failure("reader", "E", "\udce9")),), ((0, 0),)))
    assert journal.get(TurnId(1, 1)).error.message == "\ufffd"


@pytest.mark.parametrize("line", [b"{", b"[]", b'{"batch": 5}'])
def test_damage_in_the_middle_is_said(opened, tmp_path, line, caplog):
    journal = opened()
    for number in range(3):
        journal.append(wave(number, 1, 2))
    journal.close()
    lines = (tmp_path / "j").read_bytes().split(b"\n")
    lines[2] = line
    (tmp_path / "j").write_bytes(b"\n".join(lines))
    with caplog.at_level(logging.WARNING):
        assert len(opened()) == 2
    assert "incomplete or damaged after byte" in caplog.text
