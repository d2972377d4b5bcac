"""The cards of the shipped models that a recipe made: their settings are the recipe's, their sets the written split."""

from __future__ import annotations

import re

import pytest
import yaml

from convqa.models.source import find_model, shipped_names
from convqa.training.config import load
from convqa.training.train import name_of
from recipes import reader, resolver

CARDS = {name: (find_model(name).path / "README.md").read_text(encoding="utf-8") for name in shipped_names()}
RECIPES = {name: made[1] for name, text in CARDS.items() if (made := re.search(r"Made by `convqa train (\w+)`", text))}


def test_a_recipe_made_the_shipped_resolver():
    assert RECIPES["resolver"] == "resolver"


@pytest.mark.parametrize("name", RECIPES)
def test_the_settings_of_a_card_are_those_of_the_recipe(name):
    card = yaml.safe_load(re.search(r"## Settings\n\n```yaml\n(.*?)```", CARDS[name], re.DOTALL)[1])
    recipe = load(RECIPES[name])
    settings = recipe.model_dump(mode="json", exclude={"base", "train"})
    assert {field: card[field] for field in settings} == settings
    assert recipe.base.rpartition("/")[2] == card["base"] == name_of(card["base"])
    assert find_model(name).manifest.base == card["base"]
    mix = [{"sets": [each], "times": times} for each, times in reader.TIMES.items()]
    made = {"reader": {"mix": mix}, "resolver": resolver.load().model_dump()}
    examples = re.search(r"## Settings of the examples\n.*?```yaml\n(.*?)```", CARDS[name], re.DOTALL)
    assert (yaml.safe_load(examples[1]) if examples else {}) == made.get(name, {})
