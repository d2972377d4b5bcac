"""The cards of the shipped models that a recipe made: their settings are the recipe's, their sets the written split."""

from __future__ import annotations

import re

import yaml

from convqa.models.source import find_model, local_models
from convqa.training.config import load
from recipes import resolver

CARDS = {name: (find_model(name).path / "README.md").read_text(encoding="utf-8") for name in local_models()}
RECIPES = {name: made[1] for name, text in CARDS.items() if (made := re.search(r"Made by `convqa train (\w+)`", text))}


def test_a_recipe_made_the_shipped_resolver():
    assert RECIPES["resolver"] == "resolver"


def test_the_settings_of_its_card_are_those_of_the_recipe():
    made = load("resolver")
    card = yaml.safe_load(re.search(r"## Settings\n\n```yaml\n(.*?)```", CARDS["resolver"], re.DOTALL)[1])
    settings = made.model_dump(mode="json", exclude={"base"})
    assert {field: card[field] for field in settings} == settings
    assert made.base.rpartition("/")[2] == card["base"] == find_model("resolver").manifest.base
    examples = re.search(r"## Settings of the examples\n.*?```yaml\n(.*?)```", CARDS["resolver"], re.DOTALL)
    assert yaml.safe_load(examples[1]) == resolver.load().model_dump()
