"""Training recipes, one per model. Each fits, validates and exports a model.

Unusable settings, data and base models raise InputError.
"""

from __future__ import annotations

from convqa.places import shipped_yaml
from convqa.plugins import plugins

GROUP = "convqa.training"
"""The entry point group of recipes outside this package: name = module."""


def recipe_names() -> list[str]:
    """Return the names of all recipes: those with settings in ``configs/training``, and those of other packages."""
    return sorted({*shipped_yaml("configs", "training"), *plugins(GROUP)})
