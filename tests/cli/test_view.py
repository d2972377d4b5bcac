"""``convqa view``: contexts as a person reads them."""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.cli.view import segments
from convqa.tasks.mrqa.formats import Context, Question

LINES = [
    {"header": {"dataset": "Own", "split": "dev"}},
    {
        "context": "[DOC] [TLE] Faust [PAR] Goethe wrote Faust in 1808. [DOC] Goethe again.",
        "qas": [
            {"qid": "a1", "question": "Who wrote it?", "answers": ["Goethe", "J. W."],
             "detected_answers": [{"text": "Goethe", "char_spans": [[24, 29], [58, 63]]}]},
            {"qid": "a2", "question": "What?", "answers": ["Goethe wrote Faust"],
             "detected_answers": [{"text": "Goethe wrote Faust", "char_spans": [[24, 41]]}]},
        ],
    },
    {"context": "Water \x1b[31mboils.", "qas": [{"qid": "b1", "question": "When?", "answers": ["100"]}]},
    {"context": "Nothing.", "qas": []},
]  # fmt: skip


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    return path


def test_a_file_as_plain_text(call, file):
    code, out, err = call("view", file)
    assert (code, err) == (0, "")
    assert (
        out
        == """===== Context 1 =====

---

# Faust

»Goethe«[1,2]» wrote Faust«[2] in 1808.

---
»Goethe«[1] again.

[1] Who wrote it?
    id: a1
    answers: Goethe | J. W.

[2] What?
    id: a2
    answers: Goethe wrote Faust

===== Context 2 =====

Water \ufffd[31mboils.

[1] When?
    id: b1
    answers: 100 (nowhere in the text)

===== Context 3 =====

Nothing.
"""
    )


def test_gzip_and_squad_format(call, file, tmp_path):
    packed = tmp_path / "own.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert call("view", packed)[1] == call("view", file)[1]
    squad = tmp_path / "squad.json"
    questions = [
        {"id": "s1", "question": "Who?", "answers": [{"text": "Goethe", "answer_start": 0}] * 2},
        {"id": "s2", "question": "Why?", "answers": [], "is_impossible": True},
    ]
    paragraph = {"context": "Goethe wrote it.", "qas": questions}
    squad.write_text(json.dumps({"data": [{"title": "Faust", "paragraphs": [paragraph]}]}), encoding="utf-8")
    code, out, _ = call("view", squad)
    assert code == 0 and out.startswith("===== Context 1: Faust =====\n\n»Goethe«[1] wrote it.\n\n[1] Who?")
    assert "    answers: Goethe\n" in out and out.endswith("    id: s2\n    answers: none: it cannot be answered\n")


def test_which_contexts_and_questions(call, file):
    assert re.findall("Context (.)", call("view", file, "--limit", 2)[1]) == ["1", "2"]
    code, out, _ = call("view", file, "--qid", "a2", "--qid", "b1")
    assert code == 0 and re.findall("id: (..)", out) == ["a2", "b1"] and "»Goethe wrote Faust«[1]" in out
    code, _, err = call("view", file, "--qid", "zz")
    assert code == 2 and "no context has question zz" in err
    code, _, err = call("view", file.with_name("none.jsonl"))
    assert code == 2 and "no such file" in err


def test_a_mistake_in_the_file_is_said_where_it_stands(call, file):
    file.write_text(file.read_text() + "{\n", encoding="utf-8")
    assert call("view", file, "--limit", 3)[0] == 0
    code, out, err = call("view", file)
    assert code == 2 and "line 5" in err and "Context 3" in out


def terminal(file, **environment):
    """What the command writes to a terminal whose pager is cat, which passes everything on."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "convqa", "view", str(file), "--limit", "1"]
    done = subprocess.Popen(command, stdin=theirs, stdout=theirs, env={**os.environ, **environment})
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 4096):
            text += piece
    except OSError:  # how a terminal says that its other end is closed
        pass
    os.close(ours)
    assert done.wait() == 0
    return text.decode().replace("\r\n", "\n")


def test_a_terminal_has_the_pager(file, tmp_path):
    pager = tmp_path / "less"
    pager.write_text('#!/bin/sh\necho "paged with $LESS"\nexec cat\n')
    pager.chmod(0o755)
    text = terminal(file, PAGER=str(pager), LESS="-R")
    assert text.startswith("paged with -R\n") and "»Goethe«[1,2]" in text


@given(
    st.text(max_size=30), st.lists(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=4), max_size=3)
)
def test_the_pieces_are_the_text_and_cover_each_answer(text, drawn):
    spans = [[(min(s), max(s)) for s in one if min(s) < max(s) <= len(text)] for one in drawn]
    questions = tuple(Question(str(n), "?", ("x",), tuple(one)) for n, one in enumerate(spans))
    pieces = list(segments(Context(text, questions)))
    assert "".join(piece for piece, _ in pieces) == text
    marks = [asked for piece, asked in pieces for _ in piece]
    for number, one in enumerate(spans, 1):
        covered = {place for start, end in one for place in range(start, end)}
        assert {place for place, asked in enumerate(marks) if number in asked} == covered
