from __future__ import annotations

import argparse

import pytest

from convqa.domain import Exchange, Turn, TurnId

TURNS = [
    Turn(TurnId(1, 1), "Who wrote Faust?"),
    Turn(TurnId(1, 2), "When was he born?", (Exchange("Who wrote Faust?", "Johann Goethe did."),)),
]


def options(*arguments):
    from rewriter_rows import add_options

    parser = argparse.ArgumentParser()
    add_options(parser)
    return parser.parse_args(arguments)


def test_rows_are_those_of_which_a_model_is_named_and_those_in_yaml():
    from rewriter_rows import descriptions, made

    assert list(descriptions(options())) == ["copy", "concatenate", "expansion", "edit"]
    more = "three={type: expansion, init_parameters: {terms: 3}}"
    rows = descriptions(options("--generator", "./made", "--rewriter", more, "--only", "three", "generate"))
    assert list(rows) == ["generate", "three"]
    assert made(rows["three"]).terms == 3
    with pytest.raises(SystemExit, match="--only four"):
        descriptions(options("--only", "four"))


def test_rewrites_are_made_once_for_each_rewriter_and_its_turns(tmp_path):
    from rewriter_rows import Rewrites, ask, made

    kept, described = Rewrites(tmp_path), {"type": "expansion", "init_parameters": {"terms": 2}}
    for _ in range(2):
        assert kept.of(described, TURNS) == ask(made(described), TURNS)
    assert len(list(tmp_path.iterdir())) == 1
    one = {"type": "expansion", "init_parameters": {"terms": 1}}
    assert kept.of(one, TURNS)[1] != kept.of(described, TURNS)[1]
    assert kept.of(one, TURNS[:1])[0].text == "Who wrote Faust?"
    assert len(list(tmp_path.iterdir())) == 3


def test_batches_change_nothing():
    from rewriter_rows import ask, made

    rewriter = made({"type": "expansion"})
    assert ask(rewriter, TURNS, 1) == ask(rewriter, TURNS)
