"""A run is not measured by the scorer that built it."""

from __future__ import annotations

import json
import logging

import pytest

from convqa.errors import InputError
from convqa.evaluation.support import independent_scorer
from convqa.models import load_support


def meta(folder, models):
    (folder / "run.meta.json").write_text(json.dumps({"fingerprint": {"models": models}}))
    return folder


LEXICAL = load_support("lexical").identity


@pytest.mark.parametrize("identity", [LEXICAL, f"{LEXICAL} (torch float32 on cpu)"])
@pytest.mark.parametrize("place", ["", "run.json"])
def test_the_builders_own_scorer_is_refused(tmp_path, identity, place):
    path = meta(tmp_path, {"retriever": {"encoder": "x"}, "builder": {"support": identity}}) / place
    with pytest.raises(
        InputError, match=r"--support lexical: .*\(builder: support, in .*run.meta.json\).*--allow-same"
    ):
        independent_scorer("lexical", path)
    assert independent_scorer("lexical", path, allow_same=True).name == "lexical"


def test_another_scorer_is_taken(tmp_path):
    assert independent_scorer("lexical", meta(tmp_path, {"builder": {"support": "sha256:0"}})).name == "lexical"
    assert independent_scorer("lexical", meta(tmp_path, {})).name == "lexical"


@pytest.mark.parametrize("models", [[], {"builder": "x"}])
def test_a_broken_meta_file_is_a_mistake(tmp_path, models):
    with pytest.raises(InputError, match=r"fingerprint\.models: expected"):
        independent_scorer("lexical", meta(tmp_path, models))


@pytest.mark.parametrize("written", [None, "null", "[]", '{"status": "done"}'])
def test_a_run_of_unknown_origin_is_measured_with_a_warning(tmp_path, caplog, written):
    if written is not None:
        (tmp_path / "run.meta.json").write_text(written)
    with caplog.at_level(logging.WARNING, "convqa"):
        assert independent_scorer("lexical", tmp_path).name == "lexical"
    assert "names no models, so lexical may have built this run too" in caplog.text
