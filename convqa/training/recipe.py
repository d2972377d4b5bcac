"""The base of all recipes, and model cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
import yaml
from torch import Tensor

import convqa
from convqa.errors import InputError
from convqa.models.engines.torch.runtime import mask_of, padded
from convqa.models.export import write_model
from convqa.models.folder import ModelFolder, licence_of
from convqa.models.source import find_model
from convqa.models.types import Tokenizer
from convqa.training.examples import sources
from convqa.training.loop import Bench

Scores = dict[str, dict[str, float]]
"""Set -> measure -> value."""


class Recipe:
    """Base of a recipe, which holds the examples, their targets and the network.

    ``base``: the model it starts from. ``most``: maximum tokens of a sequence. ``use``: what the model is for, as text
    of its card.
    """

    use: ClassVar[str]
    base: ModelFolder
    net: Any
    tokenizer: Tokenizer
    most: int

    def __init__(self, settings: Any, bench: Bench) -> None:
        self.settings = settings
        self.bench = bench

    def fit(self) -> None:
        """Train."""
        raise NotImplementedError

    def validate(self, folder: Path) -> Scores:
        """Return the scores of the model in a folder, which this recipe wrote, on held-out examples."""
        raise NotImplementedError

    def learned(self) -> dict[str, Any]:
        """Return the manifest's settings for this kind of model."""
        return {}

    def outputs(
        self,
        ids: Sequence[Sequence[int]],
        types: Sequence[Sequence[int]],
    ) -> tuple[Tensor, ...]:
        """Run the network on a batch of sequences and return its outputs in float32."""
        device = self.bench.device
        is_rough = self.bench.precision == "bfloat16"
        with torch.autocast(device, torch.bfloat16, enabled=is_rough):
            outputs = self.net(
                padded(ids, 0, device),
                mask_of(ids, device),
                padded(types, 0, device),
            )
        return tuple(output.float() for output in outputs)

    def write(self, folder: Path, scores: Scores) -> None:
        """Write the model to a new folder, int8 for ONNX Runtime, with a card."""
        about = {
            "kind": self.settings.recipe,
            "name": folder.name,
            "precision": "int8",
            "max_tokens": self.most,
            "base": name_of(self.settings.base),
            "licence": licence_of(self.base.path),
            "settings": self.learned(),
        }
        write_model(
            folder,
            self.net,
            self.tokenizer,
            about,
            self._card(scores),
        )

    def _card(self, scores: Scores) -> str:
        """Return the model's card as Markdown."""
        recipe = self.settings.recipe
        base = name_of(self.settings.base)
        settings = self.settings.model_dump(mode="json") | {"base": base}
        score_lines = "\n".join(f"- {line}" for line in summary(scores))
        return (
            f"# A {recipe}\n\n{self.use}\n\n"
            f"Trained by `convqa train {recipe}` of convqa {convqa.__version__}, from {base}.\n\n"
            f"Licence: {licence_of(self.base.path) or 'as the base'}; the training data have licences of their own.\n\n"
            f"## Data\n\n{sources(self.bench.data)}\n\n"
            f"## Scores\n\n{score_lines}\n\n"
            f"## Settings\n\n```yaml\n{yaml.safe_dump(settings, sort_keys=False)}```\n"
        )


def trainable(base: str) -> ModelFolder:
    """Find the folder of a transformers model."""
    folder = find_model(base)
    if folder.has_onnx:
        raise InputError(
            f"base: {base} is an ONNX Runtime model, which cannot be trained; expected a transformers model: a folder "
            "with config.json and weights, or a Hugging Face name."
        )
    return folder


def summary(scores: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a line per set.

    >>> summary({"validation": {"F1": 0.81234, "turns": 253}})
    ['validation: F1 0.812, turns 253']
    """
    lines = []
    for name, row in scores.items():
        figures = [f"{measure} {value:.{3 if value % 1 else 0}f}" for measure, value in row.items()]
        lines.append(f"{name}: {', '.join(figures)}")
    return lines


def name_of(base: str) -> str:
    """Return a model's name for publication, without the path of a folder.

    >>> name_of("sentence-transformers/all-MiniLM-L6-v2"), name_of("./models/all-MiniLM-L6-v2")
    ('sentence-transformers/all-MiniLM-L6-v2', 'all-MiniLM-L6-v2')
    """
    path = Path(base).expanduser()
    return path.name if path.is_dir() or base.startswith((".", "/", "~")) else base
