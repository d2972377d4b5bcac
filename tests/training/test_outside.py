"""A recipe of another package, found by its entry point."""

import sys
from importlib.metadata import EntryPoint

import pytest

from convqa.training import recipe_names
from convqa.training.config import load
from convqa.training.train import Bench, train

MODULE = """
from typing import Literal
from convqa.training.config import Settings
from convqa.training.train import Recipe

class MineSettings(Settings):
    recipe: Literal["mine"]
    strength: int = 1

class Mine(Recipe):
    def fit(self): self.learned = self.settings.strength
    def validate(self): return {"validation": {"strength": self.learned}}
    def export(self, scores, target): target.mkdir()
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Install a module ``outside_recipe`` with this text as the recipe ``mine``."""

    def install(text):
        (tmp_path / "outside_recipe.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "outside_recipe", raising=False)
        point = EntryPoint("mine", "outside_recipe", "convqa.training")
        monkeypatch.setattr("convqa.plugins.entry_points", lambda group: [point] if group == point.group else [])

    (tmp_path / "mine.yaml").write_text("recipe: mine\nbase: x\n")
    return install


def test_it_is_listed_configured_and_trained(outside, tmp_path):
    outside(MODULE)
    assert recipe_names() == ["conditions", "mine", "reader", "resolver"]
    settings = load("mine", tmp_path / "mine.yaml", {"strength": 3})
    model, scores = train(settings, Bench(tmp_path / "out", tmp_path))
    assert model.is_dir() and scores == {"validation": {"strength": 3}}
