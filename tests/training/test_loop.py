"""The loop: batches, steps and learning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.errors import InputError
from convqa.training.config import Settings

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def torch():
    from convqa.models.engines.torch.runtime import import_torch

    try:
        return import_torch()
    except InputError as error:
        pytest.skip(str(error))


@pytest.fixture
def make(torch):
    """A model with dropout, and its loss, which depends on the examples."""

    def made():
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
        inputs = torch.randn(40, 4)
        return model, lambda places: (model(inputs[places]) - inputs[places].sum(1, keepdim=True)).pow(2).mean()

    return made


LENGTHS = [number % 7 for number in range(40)]


def plan(**changes):
    given = {"recipe": "none", "base": "none", "epochs": 3, "batch": 4, "rate": 1e-2, **changes}
    return Settings(**given)


@given(st.lists(st.integers(0, 200), max_size=300), st.integers(1, 9), st.integers(0, 3))
def test_batches_hold_every_example_once(torch, lengths, size, epoch):
    from convqa.training.loop import batches_of

    batches = batches_of(lengths, plan(batch=size), epoch)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    assert all(0 < len(batch) <= size for batch in batches)
    assert batches == batches_of(lengths, plan(batch=size), epoch)


def test_batches_are_of_like_length_and_of_another_order_in_every_epoch(torch):
    from convqa.training.loop import batches_of

    lengths = [(number * 37) % 200 for number in range(400)]
    batches = batches_of(lengths, plan(batch=8), 0)
    spread = [max(lengths[place] for place in batch) - min(lengths[place] for place in batch) for batch in batches]
    assert max(spread) < 20
    assert batches != batches_of(lengths, plan(batch=8), 1) != batches_of(lengths, plan(batch=8, seed=2), 1)


def test_it_learns_and_half_an_epoch_is_half_the_steps(torch, make, tmp_path):
    from convqa.training.loop import Bench, fit

    told = []
    model, loss = make()
    before = loss(list(range(40))).item()
    fit(model, LENGTHS, loss, plan(epochs=2.5), Bench(tmp_path, tmp_path, progress=lambda *step: told.append(step)))
    assert [done for done, _, _ in told] == list(range(1, 26)) and told[-1][1] == 25
    assert not model.training and loss(list(range(40))).item() < before


@pytest.mark.parametrize(("changes", "steps"), [({"batch": 64, "epochs": 1}, 1), ({"epochs": 0.01}, 0)])
def test_too_few_steps_to_learn_are_refused(torch, make, tmp_path, changes, steps):
    from convqa.training.loop import Bench, fit

    model, loss = make()
    with pytest.raises(InputError, match=rf"40 examples in batches of \d+ for [\d.]+ epochs give {steps} steps"):
        fit(model, LENGTHS, loss, plan(**changes), Bench(tmp_path, tmp_path))
