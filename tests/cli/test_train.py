"""``convqa train``: mistakes in words and exit codes."""

from __future__ import annotations

import importlib.util

import pytest


def test_an_unknown_recipe_is_a_mistake(call):
    code, _, error = call("train", "resolverr", "--data", ".")
    assert code == 2 and "got 'resolverr'" in error and "'resolver'?" in error
    assert "reader, resolver" in error


def test_a_wrong_setting_is_a_mistake_with_file_and_field(call, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("recipe: resolver\nbase: x\nepochs: 1\nrate: 1.0e-4\nbatches: 3\n")
    code, _, error = call("train", "resolver", file, "--data", ".")
    assert code == 2 and "mine.yaml: batches: unknown field" in error and "Fields: recipe, base, " in error
    code, _, error = call("train", "resolver", "--data", ".", "--set", "seed")
    assert code == 2 and "expected FIELD=VALUE" in error


def test_a_missing_extra_is_named_with_its_command(monkeypatch, call):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in {"torch", "onnx"} else object())
    code, _, error = call("train", "resolver", "--data", ".")
    assert code == 2 and "torch, onnx" in error and "convqa[models]" in error


@pytest.mark.models
@pytest.mark.parametrize("recipe", ["resolver", "reader"])
def test_a_folder_without_examples_is_a_mistake_that_names_the_files(call, tmp_path, recipe):
    _need_models()
    output = ("--output", tmp_path / "out")
    code, _, error = call("train", recipe, *output, "--data", tmp_path / "none")
    assert code == 2 and "none: no such folder" in error
    (tmp_path / "examples").mkdir()
    code, _, error = call("train", recipe, *output, "--data", tmp_path / "examples")
    assert code == 2 and "examples: expected " in error


@pytest.mark.models
def test_damaged_examples_are_a_mistake_with_file_line_and_field(call, tmp_path):
    _need_models()
    file = tmp_path / "validation.jsonl"
    file.write_text('{"conversation": 1, "question": "Why?", "history": [{"question": "Who?"}]}\n')
    asked = ("train", "resolver", "--data", tmp_path, "--output", tmp_path / "out")
    code, _, error = call(*asked)
    assert code == 2 and f"{file}: line 1: rewrite: is missing" in error
    file.write_text('{"conversation": 1, "question')
    code, _, error = call(*asked)
    assert code == 2 and f"{file}: line 1, column " in error


def _need_models():
    for name in ("torch", "transformers", "onnx"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
