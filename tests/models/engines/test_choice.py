"""The rule that decides how a model runs, on devices that are not here."""

from __future__ import annotations

import pytest

from convqa.models import Options
from convqa.models.engines import choose
from convqa.models.engines.torch import runtime as torch_runtime
from convqa.models.folder import ModelFolder


@pytest.mark.parametrize(
    ("device", "asked", "runs"),
    [
        ("cuda", "auto", "torch float32 on cuda"),
        ("cuda", "bfloat16", "torch bfloat16 on cuda"),
        ("mps", "auto", "torch float32 on mps"),
        ("cpu", "auto", "torch bfloat16 on cpu"),
        ("cpu", "float32", "torch float32 on cpu"),
    ],
)
def test_only_where_sequences_run_alone_is_bfloat16_chosen_unasked(monkeypatch, tmp_path, device, asked, runs):
    monkeypatch.setattr(torch_runtime, "device", lambda wanted: device)
    monkeypatch.setattr(torch_runtime, "fast_precision", lambda device: "bfloat16")
    assert str(choose(ModelFolder("it", tmp_path, None), Options(precision=asked))) == runs
