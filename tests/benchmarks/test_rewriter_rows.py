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

    assert list(descriptions(options())) == ["copy", "concatenate", "expansion", "terms", "edit"]
    more = "three={type: expansion, init_parameters: {terms: 3}}"
    rows = descriptions(options("--generator", "./made", "--rewriter", more, "--only", "three", "generate"))
    assert list(rows) == ["generate", "three"]
    assert made(rows["three"]).terms == 3
    with pytest.raises(SystemExit, match="--only four"):
        descriptions(options("--only", "four"))


def test_rewrites_made_once_have_the_weight_asked_for(tmp_path):
    from rewriter_rows import Rewrites, ask, made

    kept, described = Rewrites(tmp_path), {"type": "expansion", "init_parameters": {"terms": 2}}
    for weight in (0.3, 0.7):
        assert kept.of(described, TURNS, weight=weight) == ask(made(described, weight=weight), TURNS)
    assert len(list(tmp_path.iterdir())) == 1
    assert kept.of(described, TURNS)[1].queries[0].terms[0][1] == 0.3  # the component's default
    assert kept.of(described, TURNS, terms=1)[1] != kept.of(described, TURNS)[1]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_rewriter_without_weight_is_kept_too(tmp_path):
    from rewriter_rows import Rewrites, ask, made

    described = {"type": "copy"}
    assert Rewrites(tmp_path).of(described, TURNS) == ask(made(described), TURNS)
    assert Rewrites(tmp_path).of(described, TURNS[:1])[0].text == "Who wrote Faust?"


def test_batches_change_nothing():
    from rewriter_rows import ask, made

    rewriter = made({"type": "expansion"})
    assert ask(rewriter, TURNS, 1) == ask(rewriter, TURNS)
