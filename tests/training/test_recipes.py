"""The recipe ``resolver`` from examples to a model that convqa loads, and what is refused, on tiny real models."""

from __future__ import annotations

import json
import shutil

import pytest

from convqa.errors import InputError
from convqa.training.config import load

pytestmark = pytest.mark.models

QUICK = {"epochs": 1, "batch": 4}


@pytest.fixture
def settings(tiny_encoder):
    def made(**changes):
        return load("resolver", None, {**QUICK, "base": tiny_encoder, "pattern": 1, **changes})

    return made


@pytest.fixture
def make(own, tmp_path):
    """Train with settings in a folder of this name."""
    from convqa.training.loop import Bench
    from convqa.training.train import train

    return lambda settings, name="made": train(settings, Bench(tmp_path / name, own))


def test_a_training_ends_in_a_model_with_scores_and_a_card(settings, make, own, tmp_path):
    model, scores = make(settings())
    assert scores["validation"]["turns"] == 2
    assert json.loads((tmp_path / "made" / "scores.json").read_bytes()) == scores
    card = (model / "README.md").read_text()
    assert "convqa train resolver" in card and "- validation: turns 2" in card
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["model", "scores.json"]
    with pytest.raises(InputError, match="model: already exists"):  # nothing is written over
        make(settings())


def test_a_model_that_cannot_be_trained_is_refused(settings, make):
    with pytest.raises(InputError, match="cannot be trained"):
        make(settings(base="encoder"))


def test_settings_that_teach_nothing_are_refused_before_the_work(settings, make):
    with pytest.raises(InputError, match=r"18 examples in batches of 4 for 0.1 epochs give 0 steps"):
        make(settings(epochs=0.1))


def roberta(folder):
    """With other names for the ends of a sequence, and one type of tokens."""
    import tokenizers
    import transformers

    names = {name: number for number, name in enumerate(["<s>", "<pad>", "</s>", "<unk>", "who", "was", "he"])}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(names, unk_token="<unk>"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokens = {"unk_token": "<unk>", "pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=plain, **tokens).save_pretrained(folder)
    config = transformers.RobertaConfig(
        vocab_size=len(names), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=66, type_vocab_size=1,
    )  # fmt: skip
    transformers.RobertaModel(config, add_pooling_layer=False).save_pretrained(folder)
    return str(folder)


def test_a_base_that_a_resolver_cannot_stand_on_is_refused(settings, make, tmp_path, tiny_encoder):
    import transformers

    with pytest.raises(InputError, match="expected an encoder like BERT"):
        make(settings(base=roberta(tmp_path / "roberta")))
    untyped = shutil.copytree(tiny_encoder, tmp_path / "untyped")
    config = transformers.DistilBertConfig(vocab_size=50, dim=16, n_layers=1, n_heads=2, hidden_dim=16)
    transformers.DistilBertModel(config).save_pretrained(untyped)
    with pytest.raises(InputError, match=r"\(distilbert\): expected an encoder like BERT"):
        make(settings(base=str(untyped)))


def test_a_short_base_makes_a_resolver_of_its_length(settings, make):
    from convqa.models import load_resolver

    model, _ = make(settings())
    assert load_resolver(str(model)).max_tokens == 128


def test_files_train_validate_and_are_reported_on_by_their_names(settings, make, own):
    lines = (own / "train.jsonl").read_text().splitlines(keepends=True)
    (own / "train-more.jsonl").write_text("".join(lines[:4]))
    (own / "report-x.jsonl").write_text(lines[2])
    _, scores = make(settings())
    assert {label: row["turns"] for label, row in scores.items()} == {"validation": 2, "x report": 1}
