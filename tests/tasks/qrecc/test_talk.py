"""A held conversation as questions.json and run.json."""

from __future__ import annotations

import io
import zipfile

from convqa.domain import Answer, Failure, Response, Rewrite, TurnId
from convqa.tasks import find_task
from convqa.tasks.qrecc import talk

TURNS = [
    ("Who wrote Faust?", Response(TurnId("talk", 7), Rewrite.unchanged("Who wrote Faust?"), answer=Answer("none", ""))),
    ("And when\x1b?", Response(TurnId("talk", 9), error=Failure("builder", "KeyError", "cause"))),
]


def test_turns_are_counted_from_one_and_fit_each_other(tmp_path):
    assert [file.name for file in talk.write(iter(TURNS), tmp_path)] == list(talk.FILES)
    task = find_task("qrecc", tmp_path)
    (conversation,) = task.read(tmp_path)
    assert [(turn.id, turn.question) for turn in conversation.turns] == [
        (TurnId(1, number), question) for number, (question, _) in enumerate(TURNS, 1)
    ]
    assert task.check(tmp_path, tmp_path) == []


def test_the_zip_file_holds_the_same(tmp_path):
    files = talk.write(TURNS, tmp_path)
    with zipfile.ZipFile(io.BytesIO(talk.zipped(TURNS))) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            file.name: file.read_bytes() for file in files
        }
