"""The cards of the shipped models that a recipe made: their settings are the recipe's, their sets the written split."""

from __future__ import annotations

import re
from pathlib import Path

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


@pytest.mark.parametrize("name", RECIPES)
def test_the_turns_of_a_card_are_those_of_the_documented_split(name):
    scored = dict(re.findall(r"^- ([\w -]+): (?:turns|questions|sentences|answered) (\d+),", CARDS[name], re.MULTILINE))
    turns = {
        part.replace("-report", " report"): int(number) for part, number in scored.items() if "float32" not in part
    }
    assert turns == documented(name)


SPLITS = {
    "conditions": "`recipes.conditions.split`",
    "reader": "`recipes.reader.split`",
    "resolver": "`recipes.rewrites.split`",
}


def documented(name):
    """How much validates and reports, from the table of that recipe in docs/reference/training.md."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "training.md").read_text(encoding="utf-8")
    table = text.split(SPLITS[name])[1]
    rows = re.findall(r"^\| (validates|reports) \| (.+?) \| ([\d, ]+) \|", table.split("\n\n")[1], re.MULTILINE)
    return {part: int(number.replace(",", "")) for row in rows for part, number in _parts(*row)}


def _parts(does, sources, numbers):
    named = re.findall(r"`([\w-]+)`", sources)
    suffix = {"validates": "validation", "reports": "report"}[does]
    parts = [f"{source} {suffix}" for source in named] or [suffix]
    return zip(parts, numbers.split(", "), strict=True)
