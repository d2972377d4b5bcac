"""What several commands read in the same way."""

from __future__ import annotations

import pytest

from convqa.cli.options import PipelineOptions, parse_settings
from convqa.errors import InputError


def test_settings_are_yaml():
    assert parse_settings(["a.b=[1, x]", "a.c=", "rate=2e-4"]) == {"a.b": [1, "x"], "a.c": None, "rate": "2e-4"}
    assert parse_settings(None) == {}


@pytest.mark.parametrize("setting", ["top_k", "=1"])
def test_a_setting_without_name_or_value_is_refused(setting):
    with pytest.raises(InputError, match=rf"--set {setting}: expected NODE\.PARAMETER=VALUE"):
        parse_settings([setting])


def test_a_value_that_is_not_yaml_is_refused():
    with pytest.raises(InputError, match="--set seed: the value is not valid YAML: line 1, column 2"):
        parse_settings(["seed=["], "FIELD")


def test_a_file_may_say_that_nothing_stands_in_for_the_model_and_a_run_says_so_anyway(tmp_path):
    file = tmp_path / "mine.yaml"
    for text, talking in (
        ("{url: 'http://x', model: m}", True),
        ("{url: 'http://x', model: m, fallback: false}", False),
    ):
        file.write_text(text)
        assert PipelineOptions(llm=str(file)).language_model().fallback is talking
        assert PipelineOptions(llm=str(file), llm_role="answer").language_model(fallback=False).fallback is False
    assert PipelineOptions().language_model() is None
