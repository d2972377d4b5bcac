"""Every recipe from examples to a model that convqa loads, on tiny real models."""

from __future__ import annotations

import importlib
import json
import shutil

import pytest

from convqa.errors import InputError
from convqa.training.config import load
from convqa.training.data.rewrites import gather
from convqa.training.train import Bench, train

pytestmark = pytest.mark.models

QUICK = {"epochs": 1, "batch": 4, "own": ["own.jsonl"], "mix": [{"sets": ["own"]}], "checkpoint": 1e-9}


class Cut(Exception):
    pass


def cut(done, total, loss):
    if done == 2:
        raise Cut


@pytest.fixture
def settings(request, tiny_encoder):
    def made(recipe, **changes):
        if recipe == "rewriter":
            base = request.getfixturevalue("tiny_generator")(changes.pop("kind", "llama"))
            changes = {"base": base, "frozen": False, "validated": 3, "most_tokens": 12, **changes}
        else:
            changes = {"base": tiny_encoder, **changes}
        if recipe == "resolver":
            changes = {"pattern": 1, **changes}
        return load(recipe, None, {**QUICK, **changes})

    return made


def weights(folder):
    import torch

    return torch.load(folder / "checkpoint.pt", weights_only=True)["model"]


@pytest.mark.parametrize("recipe", ["rewriter", "resolver"])
def test_a_recipe_that_is_cut_off_goes_on_and_ends_in_the_same_model(recipe, settings, own, tmp_path):
    import torch

    wanted = settings(recipe)
    steps = importlib.import_module(f"convqa.training.{recipe}")
    steps.Training(wanted, Bench(tmp_path / "whole", own)).fit()
    with pytest.raises(Cut):
        train(wanted, Bench(tmp_path / "cut", own, progress=cut))
    assert not (tmp_path / "cut" / "model").exists()
    model, scores = train(wanted, Bench(tmp_path / "cut", own))
    for name, value in weights(tmp_path / "whole").items():
        torch.testing.assert_close(weights(tmp_path / "cut")[name], value, atol=1e-5, rtol=0)
    assert scores["validation"]["turns"] == 2
    assert json.loads((tmp_path / "cut" / "scores.json").read_bytes()) == scores
    card = (model / "README.md").read_text()
    assert f"convqa train {recipe}" in card and "validation" in card
    assert work_left(tmp_path / "cut") == []


def work_left(folder):
    """Files and folders of a training that nobody needs."""
    known = {"checkpoint.pt", "training.yaml", "scores.json", "model", "torch", "vectors", ".lock"}
    return sorted(path.name for path in folder.iterdir() if path.name not in known)


@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_a_rewriter_learns_and_the_station_writes_with_it(kind, settings, own, tmp_path):
    from convqa.components.rewriters.generate import Generate
    from convqa.domain import Exchange, Turn, TurnId
    from convqa.models import load_generator

    model, _ = train(settings("rewriter", kind=kind, epochs=4), Bench(tmp_path / "made", own))
    generator = load_generator(str(model))
    assert generator.settings == {"format": "plain"} and not generator.has_chat_template
    station = Generate(str(model), most_tokens=8)
    station.warm_up()
    turn = Turn(TurnId(1, 2), "When was he born?", (Exchange("Who was Kafka?", "A writer."),))
    assert station.rewrite_batch([turn])[0].text


def test_only_the_rewrites_tokens_count(settings, own, tmp_path):
    """The causal loss is the mean over the rewrite of what the model itself says of a prompt and its rewrite."""
    import torch

    from convqa.training.rewriter import Row, Training, _causal_loss

    work = Training(settings("rewriter"), Bench(tmp_path, own))
    rows = [Row([5, 6, 7, 8], [9, 10, 1]), Row([5, 6], [11, 1])]
    said, count = 0.0, 0
    for row in rows:
        logits = work.model(torch.tensor([row.prompt + row.rewrite])).logits[0].log_softmax(-1)
        for place, token in enumerate(row.rewrite, len(row.prompt) - 1):
            said, count = said - logits[place, token].item(), count + 1
    assert _causal_loss(work.model, rows, "cpu").item() == pytest.approx(said / count, rel=1e-5)


def test_prompts_in_training_are_those_in_use(settings, own, tmp_path, monkeypatch):
    from convqa.components.rewriters.generate import Generate
    from convqa.domain import Exchange, Turn, TurnId
    from convqa.models import Generator, Written
    from convqa.training.rewriter import Training, prompt_of

    work = Training(settings("rewriter", longest=64), Bench(tmp_path, own))
    example = gather(work.settings, own)[0][1]
    asked = []

    def write(self, prompts, *_):
        asked.extend(prompts)
        return [Written("?", True)] * len(prompts)

    monkeypatch.setattr(Generator, "write", write)
    station = Generate(work.settings.base, format="plain", longest_input=64)
    history = tuple(Exchange(said.question, said.answer) for said in example.history)
    station.rewrite_batch([Turn(TurnId(1, 9), example.question, history)])
    assert asked == [prompt_of(example, work.generator, 64)]


def test_frozen_embeddings_stay(settings, own, tmp_path):
    import torch

    from convqa.training.rewriter import Training

    work = Training(settings("rewriter", frozen=True), Bench(tmp_path, own))
    before = [value.clone() for value in work.model.parameters()]
    work.fit()
    changed = [not torch.equal(one, other) for one, other in zip(before, work.model.parameters(), strict=True)]
    frozen = [value is work.model.get_input_embeddings().weight for value in work.model.parameters()]
    assert sum(frozen) == 1 and all(moved != held for moved, held in zip(changed, frozen, strict=True))


def test_a_folder_keeps_to_one_training(settings, own, tmp_path):
    from filelock import FileLock

    train(settings("resolver"), Bench(tmp_path / "made", own))
    again, _ = train(settings("resolver", checkpoint=60), Bench(tmp_path / "made", own))
    assert again.name == "model-2"  # nothing is written over
    with pytest.raises(InputError, match="seed 1, now 2"):
        train(settings("resolver", seed=2), Bench(tmp_path / "made", own))
    with FileLock(tmp_path / "made" / ".lock"), pytest.raises(InputError, match="another process"):
        train(settings("resolver"), Bench(tmp_path / "made", own))


def test_a_model_that_cannot_be_trained_is_refused(settings, own, tmp_path):
    model, _ = train(settings("resolver"), Bench(tmp_path / "made", own))
    for recipe in ("resolver", "rewriter"):
        with pytest.raises(InputError, match="cannot be trained"):
            train(settings(recipe, base=str(model)), Bench(tmp_path / recipe, own))


@pytest.mark.parametrize("recipe", ["rewriter", "resolver"])
def test_settings_that_teach_nothing_are_refused_before_the_work(recipe, settings, own, tmp_path):
    with pytest.raises(InputError, match=r"18 examples in batches of 4, 0.1 times \(epochs\), make 0 steps"):
        train(settings(recipe, epochs=0.1), Bench(tmp_path / "made", own))
    assert not (tmp_path / "made" / "vectors").exists()


def test_a_mistyped_base_does_not_bind_the_folder(settings, own, tmp_path):
    bench = Bench(tmp_path / "made", own)
    with pytest.raises(InputError, match="no such folder"):
        train(settings("resolver", base="./nowhere"), bench)
    assert not (tmp_path / "made" / "training.yaml").exists()
    assert train(settings("resolver"), bench)[0].name == "model"


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

    from convqa.training.resolver import Training

    with pytest.raises(InputError) as caught:
        Training(settings("resolver", base=roberta(tmp_path / "roberta")), Bench(tmp_path, own))
    lacks = ["the token [CLS]", "the token [SEP]", "token types", "128 tokens (it has 66 positions)"]
    assert all(lack in str(caught.value) for lack in lacks) and "wanted an encoder of BERT's kind" in str(caught.value)
    untyped = shutil.copytree(tiny_encoder, tmp_path / "untyped")
    config = transformers.DistilBertConfig(vocab_size=50, dim=16, n_layers=1, n_heads=2, hidden_dim=16)
    transformers.DistilBertModel(config).save_pretrained(untyped)
    with pytest.raises(InputError, match=r"\(distilbert\) lacks token types"):
        Training(settings("resolver", base=str(untyped)), Bench(tmp_path, own))


def test_a_short_base_makes_a_resolver_of_its_length(settings, own, tmp_path):
    from convqa.models import load_resolver

    model, _ = train(settings("resolver"), Bench(tmp_path / "made", own))
    assert load_resolver(str(model)).max_tokens == 128
