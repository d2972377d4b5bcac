"""The condition check that ships on clear cases, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from convqa.errors import InputError
from convqa.models.folder import MANIFEST, open_folder
from convqa.models.kinds.encoder import load_encoder
from convqa.models.source import find_model
from convqa.sharc.judge import FEATURES, Judgment, features, load_conditions

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


def test_nothing_is_known_of_nothing_and_neighbors_change_nothing():
    judge = load_conditions()
    assert judge.judge([("", "Do you work?"), ("I work.", " ")]) == [Judgment(0.0, 0.5)] * 2
    pairs = [(told, asked) for told, asked, _ in CLEAR]
    together, alone = judge.judge(pairs), [judge.judge([pair])[0] for pair in pairs]
    np.testing.assert_allclose(together, alone, atol=1e-4)
    assert judge.judge([]) == []


def test_features_are_numbers_in_their_order():
    rows = features(load_encoder("encoder"), [("I am 68. No, I never worked.", "Are you over 60?")])
    row = dict(zip(FEATURES, rows[0].tolist(), strict=True))
    assert rows.shape == (1, len(FEATURES)) and row["compared"] == row["comparable"] == 1
    assert row["sentences"] == 0.4 and row["said"] == 0


def test_other_models_and_heads_of_other_encoders_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"expected a model of kind 'conditions'.*, got kind 'encoder'"):
        load_conditions("encoder")
    manifest = json.loads((find_model("conditions").path / MANIFEST).read_text())
    for field, value, message in (
        ("checksum", "0" * 32, "expected the encoder 'encoder' with the checksum 0"),
        ("known", {"weights": {"share": 1.0}, "offset": 0.0}, "weights: expected nearest"),
        ("threshold", 2, "threshold"),
    ):
        folder = tmp_path / field
        folder.mkdir()
        changed = manifest | {"settings": manifest["settings"] | {field: value}}
        (folder / MANIFEST).write_text(json.dumps(changed))
        assert open_folder("x", folder).manifest.kind == "conditions"
        with pytest.raises(InputError, match=message):
            load_conditions(str(folder))
