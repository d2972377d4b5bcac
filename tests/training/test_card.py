"""The cards of the shipped models that a recipe made: their settings are the recipe's, their sets the written split."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from convqa.models.source import find_model, shipped_names
from convqa.training.card import name_of
from convqa.training.config import load

CARDS = {name: (find_model(name).path / "README.md").read_text(encoding="utf-8") for name in shipped_names()}
RECIPES = {name: made[1] for name, text in CARDS.items() if (made := re.search(r"Made by `convqa train (\w+)`", text))}


def test_a_recipe_made_the_shipped_resolver():
    assert RECIPES["resolver"] == "resolver"


@pytest.mark.parametrize("name", RECIPES)
def test_the_settings_of_a_card_are_those_of_the_recipe(name, tmp_path):
    block = re.search(r"## Settings\n\n```yaml\n(.*?)```", CARDS[name], re.DOTALL)
    (tmp_path / "card.yaml").write_text(block[1], encoding="utf-8")
    settings, recipe = load(RECIPES[name], tmp_path / "card.yaml"), load(RECIPES[name])
    assert settings.model_dump(exclude={"base"}) == recipe.model_dump(exclude={"base"})
    assert recipe.base.endswith(f"/{settings.base}") and name_of(settings.base) == settings.base
    assert find_model(name).manifest.base == settings.base


@pytest.mark.parametrize("name", RECIPES)
def test_the_turns_of_a_card_are_those_of_the_documented_split(name):
    scored = re.findall(r"^- ([\w-]+): turns (\d+),", CARDS[name], re.MULTILINE)
    assert {part: int(turns) for part, turns in scored} == documented()


def documented():
    """The turns of what validates and reports, from the table in docs/training.md."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    named = {"validates": lambda source: "validation", "reports": lambda source: source.split("`")[1]}
    return {
        named[part[0]](part[1]): int(part[2].replace(",", "")) for part in rows if part[0] in named and len(part) == 4
    }
