"""``convqa chat``: a conversation from standard input, as a user has it and as a program sends it."""

from __future__ import annotations

import pytest

from convqa.components.builders.sentences import Sentences
from convqa.components.retrievers.bm25 import BM25
from convqa.domain import Answer
from convqa.errors import StoreUnavailable
from convqa.text.dialogue import replies

PLAIN = ["--pipeline", "expansion-bm25"]


@pytest.fixture
def turns(monkeypatch):
    """The turns that reach the builder."""
    seen, build = [], Sentences.build

    def building(self, turn, rewrite, ranking, reading):
        seen.append(turn)
        if turn.question == "fail":
            raise KeyError("cause")
        if "apply" in turn.question:
            return Answer("question", "Are you over 60?")
        return build(self, turn, rewrite, ranking, reading)

    monkeypatch.setattr(Sentences, "build", building)
    return seen


def test_questions_are_answered_with_what_was_said_before_in_mind(call, indexed, turns):
    said = b"What is a physician's assistant?\n\n  \nWhat does it cost?\r\n/new\nWhat does it cost?\n/quit\nand this?\n"
    code, out, err = call("chat", *PLAIN, "--collection", indexed, "--scenario", "I am 62.", stdin=said)
    assert (code, err) == (0, "")
    first, last = out.split("A new conversation.\n\n")
    assert (first.count("\n\n[1]"), last.count("\n\n[1]")) == (2, 1)
    assert not out.startswith(("One question", "> "))
    assert [[exchange.question for exchange in turn.history] for turn in turns] == [[], [turns[0].question], []]
    assert {turn.scenario for turn in turns} == {"I am 62."}


def test_a_question_asked_back_is_said_to_be_one_and_the_reply_goes_on(call, indexed, turns):
    code, out, _ = call("chat", *PLAIN, "--collection", indexed, stdin="Can I apply?\nI am\n")
    assert code == 0 and out.startswith("Asked back: Are you over 60?\n\n")
    assert replies(turns[1]) == (("Are you over 60?", "I am"),)


def test_a_turn_that_fails_is_told_and_the_conversation_goes_on(call, indexed, turns):
    code, out, err = call("chat", *PLAIN, "--collection", indexed, stdin="fail\nWhat is it?\n")
    assert (code, err) == (0, "convqa: error: builder failed: KeyError: 'cause'. -v shows where in the code.\n")
    assert "[1]" in out and turns[1].history[0].status == "failed"


def test_what_asks_nothing_gets_a_friendly_line_and_no_passages(call, indexed):
    _, out, _ = call("chat", "--collection", indexed, stdin="ok cool\n/new\nhi, how are you?\n")
    assert out == "{0}A new conversation.\n\n{0}".format("Nothing to look up. Ask whenever you like.\n\n")


def test_commands_in_any_case_and_unknown_ones(call, indexed, turns):
    said = "\ufeff/NEW\n/help me\nWhat is it?\n/Quit\nand this?\n"
    code, out, err = call("chat", *PLAIN, "--collection", indexed, stdin=said.encode())
    assert code == 0 and out.startswith("A new conversation.\n")
    assert err.startswith("/help is unknown, and was not sent. There are /new") and "/quit" in err
    assert [turn.question for turn in turns] == ["What is it?"]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [(StoreUnavailable("the store is away."), 1, "the store is away"), (KeyboardInterrupt(), 130, "interrupted")],
)
def test_it_ends_where_the_work_cannot_go_on(call, indexed, monkeypatch, error, code, message):
    def away(*_):
        raise error

    monkeypatch.setattr(BM25, "search", away)
    found, out, err = call("chat", *PLAIN, "--collection", indexed, stdin="one\ntwo\n")
    assert (found, out) == (code, "") and message in err and err.count("\n") == 1


def test_a_terminal_is_asked_by_a_prompt_until_its_end(call, indexed, monkeypatch):
    monkeypatch.setattr("convqa.cli.chat._is_terminal", lambda: True)
    code, out, _ = call("chat", *PLAIN, "--collection", indexed, stdin="\nzzqx\n")
    assert code == 0
    assert out.startswith("One question a line; /new") and out.count("> ") == 3 and "No answer: " in out


def test_wild_input_does_not_break_it(call, indexed):
    code, out, _ = call("chat", *PLAIN, "--collection", indexed, stdin=b"\x00\n\xff\xfe\n" + b"e " * 50_000 + b"\n")
    assert code == 0 and out.count("No answer: ") >= 2
    assert call("chat", *PLAIN, "--collection", indexed, stdin="") == (0, "", "")
    assert call("chat")[0] == 2
