"""Every recipe from examples to a model that convqa loads, on tiny real models."""

from __future__ import annotations

import json
import shutil

import pytest

from convqa.errors import InputError
from convqa.training.config import load
from convqa.training.train import Bench, train

pytestmark = pytest.mark.models

QUICK = {"epochs": 1, "batch": 4, "checkpoint": 1e-9}


class Cut(Exception):
    pass


def cut(done, total, loss):
    if done == 2:
        raise Cut


@pytest.fixture
def settings(tiny_encoder):
    def made(**changes):
        return load("resolver", None, {**QUICK, "base": tiny_encoder, "pattern": 1, **changes})

    return made


def weights(folder):
    import torch

    return torch.load(folder / "checkpoint.pt", weights_only=True)["model"]


def test_a_recipe_that_is_cut_off_goes_on_and_ends_in_the_same_model(settings, own, tmp_path):
    import torch

    from convqa.training.resolver import ResolverTraining

    wanted = settings()
    ResolverTraining(wanted, Bench(tmp_path / "whole", own)).fit()
    with pytest.raises(Cut):
        train(wanted, Bench(tmp_path / "cut", own, progress=cut))
    assert not (tmp_path / "cut" / "model").exists()
    model, scores = train(wanted, Bench(tmp_path / "cut", own))
    for name, value in weights(tmp_path / "whole").items():
        torch.testing.assert_close(weights(tmp_path / "cut")[name], value, atol=1e-5, rtol=0)
    assert scores["validation"]["turns"] == 2
    assert json.loads((tmp_path / "cut" / "scores.json").read_bytes()) == scores
    card = (model / "README.md").read_text()
    assert "convqa train resolver" in card and "validation" in card
    assert work_left(tmp_path / "cut") == []


def work_left(folder):
    """Files and folders of a training that nobody needs."""
    known = {"checkpoint.pt", "scores.json", "model", "torch", "vectors", ".lock"}
    return sorted(path.name for path in folder.iterdir() if path.name not in known)


def test_a_folder_keeps_to_one_training(settings, own, tmp_path):
    from filelock import FileLock

    folder = tmp_path / "made"
    with pytest.raises(Cut):
        train(settings(), Bench(folder, own, progress=cut))
    with pytest.raises(InputError, match="belongs to another training"):
        train(settings(seed=2), Bench(folder, own))
    with (own / "train-more.jsonl").open("w") as more:
        more.write((own / "train.jsonl").read_text())
    with pytest.raises(InputError, match="belongs to another training"):
        train(settings(), Bench(folder, own))
    (own / "train-more.jsonl").unlink()
    train(settings(checkpoint=60), Bench(folder, own))
    with pytest.raises(InputError, match="model: already exists"):  # nothing is written over
        train(settings(), Bench(folder, own))
    with FileLock(folder / ".lock"), pytest.raises(InputError, match="another process"):
        train(settings(), Bench(folder, own))


def test_a_model_that_cannot_be_trained_is_refused(settings, own, tmp_path):
    model, _ = train(settings(), Bench(tmp_path / "made", own))
    with pytest.raises(InputError, match="cannot be trained"):
        train(settings(base=str(model)), Bench(tmp_path / "again", own))


def test_settings_that_teach_nothing_are_refused_before_the_work(settings, own, tmp_path):
    with pytest.raises(InputError, match=r"18 examples in batches of 4 for 0.1 epochs give 0 steps"):
        train(settings(epochs=0.1), Bench(tmp_path / "made", own))
    assert not (tmp_path / "made" / "vectors").exists()


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


def test_a_base_that_a_resolver_cannot_stand_on_is_refused_in_setup(settings, own, tmp_path, tiny_encoder):
    import transformers

    from convqa.training.resolver import ResolverTraining

    with pytest.raises(InputError) as caught:
        ResolverTraining(settings(base=roberta(tmp_path / "roberta")), Bench(tmp_path, own))
    assert "expected an encoder like BERT" in str(caught.value)
    untyped = shutil.copytree(tiny_encoder, tmp_path / "untyped")
    config = transformers.DistilBertConfig(vocab_size=50, dim=16, n_layers=1, n_heads=2, hidden_dim=16)
    transformers.DistilBertModel(config).save_pretrained(untyped)
    with pytest.raises(InputError, match=r"\(distilbert\): expected an encoder like BERT"):
        ResolverTraining(settings(base=str(untyped)), Bench(tmp_path, own))


def test_a_short_base_makes_a_resolver_of_its_length(settings, own, tmp_path):
    from convqa.models import load_resolver

    model, _ = train(settings(), Bench(tmp_path / "made", own))
    assert load_resolver(str(model)).max_tokens == 128


def test_files_train_validate_and_are_reported_on_by_their_names(own):
    from convqa.training.resolver import gather

    def conversations(examples):
        return {example.conversation for example in examples}

    training, checks = gather(own)
    assert list(checks) == ["validation"]
    assert len(conversations(training)) == 9 and len(conversations(checks["validation"])) == 1
    lines = (own / "train.jsonl").read_text().splitlines(keepends=True)
    (own / "validation.jsonl").write_text("".join(lines[:2]))
    (own / "report-x.jsonl").write_text(lines[2])
    (own / "train.jsonl").write_text("".join(lines[3:6]))
    (own / "train-more.jsonl").write_text(lines[6])
    training, checks = gather(own)
    assert (len(training), {label: len(examples) for label, examples in checks.items()}) == (
        4, {"validation": 2, "x report": 1},
    )  # fmt: skip


def test_one_conversation_is_too_few(own):
    from convqa.training.resolver import gather

    (own / "train.jsonl").write_text((own / "train.jsonl").read_text().partition("\n")[0])
    with pytest.raises(InputError, match="at least 2 conversations, got 1"):
        gather(own)
