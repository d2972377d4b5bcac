"""``convqa train``: mistakes in words and exit codes, and a training that is interrupted."""

from __future__ import annotations

import importlib.util
import json
import signal
import time

import pytest

from tests.training.conftest import tiny_encoder as tiny_encoder


def test_an_unknown_recipe_is_a_mistake(call):
    code, _, error = call("train", "resolverr", "--data", ".")
    assert code == 2 and "got 'resolverr'" in error and "'resolver'?" in error
    assert "conditions, reader, resolver" in error


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
@pytest.mark.parametrize("recipe", ["resolver", "reader", "conditions"])
def test_a_folder_without_examples_is_a_mistake_that_names_the_files(call, tmp_path, recipe):
    _need_models()
    output = ("--output", tmp_path / "out")
    code, _, error = call("train", recipe, *output, "--data", tmp_path / "none")
    assert code == 2 and "none: no such folder" in error
    (tmp_path / "examples").mkdir()
    code, _, error = call("train", recipe, *output, "--data", tmp_path / "examples")
    assert code == 2 and "examples: expected train.jsonl" in error


@pytest.mark.models
def test_damaged_examples_are_a_mistake_with_file_line_and_field(call, tmp_path):
    _need_models()
    file = tmp_path / "train.jsonl"
    file.write_text('{"conversation": 1, "question": "Why?", "history": [{"question": "Who?"}]}\n')
    asked = ("train", "resolver", "--data", tmp_path, "--output", tmp_path / "out")
    code, _, error = call(*asked)
    assert code == 2 and f"{file}: line 1: rewrite: is missing" in error
    file.write_text('{"conversation": 1, "question')
    code, _, error = call(*asked)
    assert code == 2 and f"{file}: line 1, column " in error


@pytest.mark.slow
@pytest.mark.models
def test_ctrl_c_leaves_a_checkpoint_and_the_same_command_goes_on(process, tmp_path, tiny_encoder):
    _need_models()
    data = tmp_path / "data"
    data.mkdir()
    with (data / "train.jsonl").open("w") as file:
        for number in range(40):
            history = [{"question": f"Who was number {number}?", "answer": "One of forty."}]
            record = {"conversation": number, "question": "When?", "history": history, "rewrite": f"When was {number}?"}
            file.write(json.dumps(record) + "\n")
    output = tmp_path / "made"
    asked = [
        "train", "resolver", "--data", data, "--set", f"base={tiny_encoder}", "--output", output,
        "--set", "batch=1", "--set", "pattern=1", "--device", "cpu", "-v",
    ]  # fmt: skip
    # So many steps that it is interrupted before it is done; the checkpoint is the first one's.
    started = process(*asked, "--set", "epochs=15", "--set", "checkpoint=0.2")
    _wait(lambda: (output / "checkpoint.pt").exists() or started.poll() is not None)
    started.send_signal(signal.SIGINT)
    _, error = started.communicate(timeout=600)
    assert started.returncode == 130, error
    assert "interrupted" in error
    assert not (output / "model").exists()
    again = process(*asked, "--set", "epochs=15", "--set", "checkpoint=60")
    printed, error = again.communicate(timeout=600)
    assert again.returncode == 0, error
    assert "resuming at step" in error and f"Model: {output / 'model'}" in printed
    assert (output / "model" / "model.onnx").exists()


def _need_models():
    for name in ("torch", "transformers", "onnx"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


def _wait(until):
    end = time.monotonic() + 600
    while not until():
        assert time.monotonic() < end
        time.sleep(0.1)
