"""The recipe ``query_encoder`` from examples to a model that convqa loads, on a tiny real model."""

from __future__ import annotations

import json

import pytest

from convqa.errors import InputError
from convqa.training.config import load
from tests.training.conftest import PEOPLE, examples

pytestmark = pytest.mark.models


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    lines = []
    for example in examples():
        name = PEOPLE[example["conversation"]]
        lines.append({**example, "collection": "people", "gold": [name]})
    passages = [{"id": f"lead {name}", "text": f"{name} did write the first passage."} for name in PEOPLE[:3]]
    passages += [{"collection": "people", "id": name, "text": f"{name} was born in the passage."} for name in PEOPLE]
    for name, records in (("train", lines[:-2]), ("validation", lines[-2:]), ("passages", passages)):
        text = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def trained(data, folder, **changes):
    from convqa.training.loop import Bench
    from convqa.training.train import train

    settings = load("query_encoder", None, {"epochs": 2, "batch": 4, "rate": 1e-2, **changes})
    return train(settings, Bench(folder, data))


def test_a_training_ends_in_a_model_of_the_teachers_family(data, tiny_encoder, tmp_path):
    from convqa.models import load_encoder
    from convqa.models.kinds.query_encoder import load_query_encoder
    from convqa.models.kinds.resolver_input import Past

    model, scores = trained(data, tmp_path / "made", base=tiny_encoder, teacher=tiny_encoder)
    assert set(scores["validation"]) == {"turns", "MRR@10", "question MRR@10", "rewrite MRR@10"}
    made = load_query_encoder(str(model))
    assert made.family == load_encoder(tiny_encoder).family
    assert made.encode([("When was he born?", [Past("Who was Kafka?")])]).shape == (1, 16)


def test_a_base_of_another_width_is_refused(data, tiny_encoder, tmp_path):
    with pytest.raises(InputError, match="has 16 dimensions, the teacher 384"):
        trained(data, tmp_path / "made", base=tiny_encoder)


def test_passages_outside_all_collections_are_needed(data, tiny_encoder, tmp_path):
    kept = [line for line in (data / "passages.jsonl").read_text().splitlines() if "lead" not in line]
    (data / "passages.jsonl").write_text("\n".join(kept), encoding="utf-8")
    with pytest.raises(InputError, match="expected passages without a collection, got none"):
        trained(data, tmp_path / "made", base=tiny_encoder, teacher=tiny_encoder)
