"""The condition check that ships on clear cases."""

from __future__ import annotations

import numpy as np

from convqa.models.kinds.encoder import load_encoder
from convqa.models.source import find_model
from convqa.sharc.judge import load_conditions

CLEAR = [
    ("I live in Cyprus with my wife.", "Do you live in Cyprus?", True),
    ("I have no children. I don't live in Cyprus.", "Do you live in Cyprus?", False),
    ("I have never been self-employed.", "Are you self-employed?", False),
    ("I am 68 years old.", "Are you over 60 years old?", True),
    ("I earn \u00a350 a week.", "Do you earn on average at least \u00a3113 a week?", False),
    ("I want to send flowers to my aunt.", "Do you live in Cyprus?", None),
]


def test_clear_cases():
    judge = load_conditions()
    made = judge.judge([(told, asked) for told, asked, _ in CLEAR])
    for one, (told, asked, yes) in zip(made, CLEAR, strict=True):
        assert (one.known >= judge.threshold) == (yes is not None), (told, asked, one)
        assert yes is None or (one.yes >= 0.5) == yes, (told, asked, one)


def test_neighbors_change_nothing():
    judge = load_conditions()
    pairs = [(told, asked) for told, asked, _ in CLEAR]
    together, alone = judge.judge(pairs), [judge.judge([pair])[0] for pair in pairs]
    np.testing.assert_allclose(together, alone, atol=1e-4)
    assert judge.judge([]) == []


def test_it_was_made_for_the_encoder_that_ships():
    settings = find_model("conditions").manifest.settings
    assert load_encoder(settings["encoder"]).checksum == settings["checksum"]
