"""``convqa chat``: a conversation from standard input, as a user has it and as a program sends it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from convqa.cli.conversation import COMMANDS
from convqa.components.builders.sentences import SentencesBuilder
from convqa.components.retrievers.bm25 import BM25
from convqa.domain import Answer
from convqa.errors import StoreUnavailable
from convqa.text.dialogue import replies

PLAIN = ["--pipeline", "expansion-bm25"]
GOLDEN = Path(__file__).with_name("golden")


@pytest.fixture
def turns(monkeypatch):
    """The turns that reach the builder."""
    seen, build = [], SentencesBuilder.build

    def building(self, turn, rewrite, ranking, reading):
        seen.append(turn)
        if turn.question == "fail":
            raise KeyError("cause")
        if "apply" in turn.question:
            return Answer("question", "Are you over 60?")
        return build(self, turn, rewrite, ranking, reading)

    monkeypatch.setattr(SentencesBuilder, "build", building)
    return seen


def test_questions_are_answered_with_what_was_said_before_in_mind(call, indexed, turns):
    said = b"What is a physician's assistant?\n\n  \nWhat does it cost?\r\n/new\nWhat does it cost?\n/quit\nand this?\n"
    code, out, err = call("chat", *PLAIN, "--collection", indexed, "--scenario", "I am 62.", stdin=said)
    assert (code, err) == (0, "")
    first, last = out.split("> /new\nNew conversation.\n\n")
    assert (first.count("\n\n[1]"), last.count("\n\n[1]")) == (2, 1)
    assert first.startswith("> What is a physician's assistant?\n") and "and this?" not in last
    assert [[exchange.question for exchange in turn.history] for turn in turns] == [[], [turns[0].question], []]
    assert {turn.scenario for turn in turns} == {"I am 62."}


def test_a_transcript_is_as_it_was(call, example, example_cache, tmp_path, monkeypatch):
    """Without prompt, colors or broken lines; with the questions, so that it can be read."""
    monkeypatch.chdir(tmp_path)
    said = (GOLDEN / "chat-questions.txt").read_bytes()
    code, out, err = call("chat", "--collection", example / "passages.jsonl.gz", stdin=said)
    assert code == 0 and out == (GOLDEN / "chat.txt").read_text(encoding="utf-8")
    assert "'/sorces'" in err and "'/sources'" in err and err.count("\n") == 1


def test_the_readme_shows_a_conversation_as_it_is(call, root, example, example_cache):
    shown = (root / "README.md").read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    questions = [line[2:] for line in shown.splitlines() if line.startswith("> ")]
    code, out, _ = call("chat", "--collection", example / "passages.jsonl.gz", stdin="\n".join(questions) + "\n")
    assert code == 0 and len(questions) == 2

    def words(text):  # sources have a line each on a terminal, where lines are broken
        return re.sub(r"^\[.+?(\n\n|\Z)", "", text, flags=re.DOTALL | re.MULTILINE).split()

    assert words(shown) == words(out)


def test_what_was_understood_and_cited_can_be_asked_for(call, indexed, turns):
    said = "/rewrite\n/sources\nWhat is a physician's assistant?\nWhat does it cost?\n"
    said += "/rewrite\n/sources\n"
    code, out, err = call("chat", *PLAIN, "--collection", indexed, stdin=said)
    assert code == 0 and err.count("no question yet") == 2
    rewrite, place = out.rpartition("> /rewrite\nUnderstood as: ")[2].split("> /sources\n")
    assert "\nSearch query: What does it cost?\n    plus words of " in rewrite and " (0." in rewrite
    assert place.startswith("[1]") and "    id: " in place and "»" in place and "[2]" in place
    assert "has no sources" in call("chat", "--collection", indexed, stdin="thanks\n/sources\n")[1]


def test_a_question_asked_back_is_said_to_be_one_and_the_reply_goes_on(call, indexed, turns):
    code, out, _ = call("chat", *PLAIN, "--collection", indexed, stdin="Can I apply?\nI am\n")
    assert code == 0 and out.startswith("> Can I apply?\nAsked back: Are you over 60?\n\n> I am\n")
    assert replies(turns[1]) == (("Are you over 60?", "I am"),)


def test_a_turn_that_fails_is_told_and_the_conversation_goes_on(call, indexed, turns):
    code, out, err = call("chat", *PLAIN, "--collection", indexed, stdin="fail\nWhat is it?\n")
    assert code == 0 and "builder failed: KeyError: 'cause'" in err and err.count("\n") == 1
    assert "[1]" in out and turns[1].history[0].status == "failed"


def test_commands_in_any_case_and_unknown_ones(call, indexed, turns):
    said = "\ufeff/NEW\n/Help me\n/quti\nWhat is it?\n/Quit\nand this?\n"
    code, out, err = call("chat", *PLAIN, "--collection", indexed, stdin=said.encode())
    assert code == 0 and out.startswith("> /NEW\nNew conversation.\n")
    assert "'/quti'" in err and "'/quit'" in err and err.count("\n") == 1
    assert [turn.question for turn in turns] == ["What is it?"]
    listed = out.partition("> /Help me\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert max(map(len, listed)) <= 80


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [(StoreUnavailable("the store is away."), 1, "the store is away"), (KeyboardInterrupt(), 130, "interrupted")],
)
def test_without_a_terminal_it_ends_where_the_work_cannot_go_on(call, indexed, monkeypatch, error, code, message):
    def away(*_):
        raise error

    monkeypatch.setattr(BM25, "search", away)
    found, out, err = call("chat", *PLAIN, "--collection", indexed, stdin="one\ntwo\n")
    assert (found, out) == (code, "> one\n") and message in err and err.count("\n") == 1


def test_wild_input_does_not_break_it(call, indexed):
    said = b"\x00\n\xff\xfe\x1b[31m\n/\x1b[31m\n/sources " + b"9" * 5000 + b"\n" + b"e " * 50_000 + b"\n"
    code, out, err = call("chat", *PLAIN, "--collection", indexed, stdin=said)
    assert code == 0 and out.count("No answer: ") >= 2 and "\x1b" not in out + err
    assert call("chat", *PLAIN, "--collection", indexed, stdin="") == (0, "", "")
    assert call("chat")[0] == 2


def test_a_talk_in_a_language_without_an_analyzer_of_its_own(call, tmp_path):
    texts = ["歌德于1808年出版了《浮士德》第一部。他出生在法兰克福。", "长城是世界上最长的人造建筑。它总长6300公里。"]
    passages = tmp_path / "passages.jsonl"
    passages.write_text("".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(texts)))
    code, _, err = call("index", passages, "--collection", tmp_path / "zh", "--language", "zh")
    assert code == 0, err
    questions = "长城有多长？\n浮士德是什么时候出版的？\n他出生在哪里？\n"
    code, out, err = call("chat", "--collection", tmp_path / "zh", stdin=questions)
    assert code == 0, err
    assert "它总长6300公里。" in out and "歌德于1808年出版了" in out and "他出生在法兰克福。" in out
