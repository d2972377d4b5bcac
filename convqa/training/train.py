"""The steps of a training."""

from __future__ import annotations

import tempfile
from pathlib import Path

import orjson

from convqa.files import whole_file
from convqa.models.folder import check_target
from convqa.training.config import Settings
from convqa.training.loop import Bench
from convqa.training.query_encoder import QueryEncoderTraining
from convqa.training.reader import ReaderTraining
from convqa.training.recipe import Recipe, Scores
from convqa.training.resolver import ResolverTraining

_CLASSES: dict[str, type[Recipe]] = {
    "query_encoder": QueryEncoderTraining,
    "reader": ReaderTraining,
    "resolver": ResolverTraining,
}


def train(settings: Settings, bench: Bench) -> tuple[Path, Scores]:
    """Train, validate and export a model; returns its folder and its scores."""
    target = bench.folder / "model"
    check_target(target)
    training = _CLASSES[settings.recipe](settings, bench)
    training.fit()
    bench.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=bench.folder) as aside:
        # Scores the int8 model on ONNX Runtime, as it is used.
        model = Path(aside) / "model"
        training.write(model, {})
        scores = training.validate(model)
    training.write(target, scores)
    with whole_file(bench.folder / "scores.json") as file:
        file.write(orjson.dumps(scores, option=orjson.OPT_INDENT_2))
    return target, scores
