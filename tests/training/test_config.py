"""Settings: the shipped files load, and mistakes are named with file and field."""

from __future__ import annotations

import pytest

from convqa.errors import InputError
from convqa.training import RECIPES
from convqa.training.config import load


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_shipped_file_of_every_recipe_loads(recipe):
    assert load(recipe).recipe == recipe


def test_an_unknown_recipe_is_refused_with_the_nearest():
    with pytest.raises(InputError, match=r"got 'resolverr'.*Did you mean 'resolver'"):
        load("resolverr")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"epochs": 0}, "epochs: expected more than 0, got 0"),
        ({"rate": "fast"}, "rate: expected a number, got 'fast'"),
        ({"epoch": 1}, "epoch: unknown field. Fields: recipe, base, "),
        ({"recipe": "reader"}, "recipe: expected 'resolver', got 'reader'"),
        ({"batch": 1.5}, "batch: expected a whole number, got 1.5"),
    ],
)
def test_a_wrong_field_is_named_with_its_file(change, said):
    with pytest.raises(InputError) as caught:
        load("resolver", None, change)
    assert said in str(caught.value) and "resolver.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [("- 1", "expected an object"), ("a: [", "not valid YAML")],
)
def test_a_file_that_is_no_settings_is_refused(tmp_path, text, said):
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(InputError, match=said):
        load("resolver", tmp_path / "mine.yaml")
    with pytest.raises(InputError, match=r"none.yaml cannot be read"):
        load("resolver", tmp_path / "none.yaml")


def test_numbers_that_yaml_reads_as_text_are_numbers():
    assert load("resolver", None, {"rate": "2e-4", "seed": 3}).rate == 2e-4
