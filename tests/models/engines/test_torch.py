"""Encoders and scorers on torch, and the way from there to ONNX Runtime: tiny real models made here."""

from __future__ import annotations

import json

import numpy as np
import pytest

from convqa.errors import InputError
from convqa.models import Options, load_encoder, load_pair_scorer

pytestmark = pytest.mark.models

TEXTS = ["who wrote faust ?", "faust", "goethe wrote a play and again a play and it is faust", "", "x y z"]


@pytest.fixture(scope="module")
def transformers():
    pytest.importorskip("torch")
    return pytest.importorskip("transformers")


def by_hand(transformers, folder, text, pooling):
    """The vector that transformers' own classes make_bert, one text at a time."""
    import torch

    model = transformers.AutoModel.from_pretrained(folder).eval()
    given = transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt", truncation=True)
    with torch.inference_mode():
        states = model(**given).last_hidden_state[0]
    pooled = states.mean(0) if pooling == "mean" else states[0]
    return torch.nn.functional.normalize(pooled, dim=0).numpy()


def sentence_transformers(folder, **files):
    """Add sentence-transformers' files to a model's folder."""
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds.items()]
    content = {"modules.json": modules, "1_Pooling/config.json": {"pooling_mode_cls_token": True}, **files}
    (folder / "1_Pooling").mkdir()
    for name, value in content.items():
        (folder / name).write_text(json.dumps(value))
    return folder


@pytest.fixture(scope="module")
def plain(make_bert):
    return make_bert("BertModel")


@pytest.fixture(scope="module")
def cls(make_bert):
    prompts = {"prompts": {"query": "query : ", "document": "passage : "}}
    return sentence_transformers(
        make_bert("BertModel"),
        **{"config_sentence_transformers.json": prompts, "sentence_bert_config.json": {"max_seq_length": 7}},
    )


def test_a_plain_model_is_pooled_by_the_mean(transformers, plain):
    encoder = load_encoder(str(plain))
    assert (encoder.dimension, encoder.max_tokens, str(encoder.runs)) == (16, 24, "torch float32 on cpu")
    made = encoder.encode(TEXTS)
    for text, vector in zip(TEXTS, made, strict=True):
        assert np.allclose(vector, by_hand(transformers, plain, text, "mean"), atol=1e-5)


def test_pooling_prompts_and_length_are_those_of_sentence_transformers(transformers, cls):
    encoder = load_encoder(str(cls))
    assert encoder.max_tokens == 7
    for role, prefix in (("query", "query : "), ("passage", "passage : ")):
        wanted = by_hand(transformers, cls, f"{prefix}faust", "cls")
        assert np.allclose(encoder.encode(["faust"], role)[0], wanted, atol=1e-5)
    long = "faust " * 3
    assert np.array_equal(encoder.encode([long])[0], encoder.encode([long + "goethe wrote it"])[0])


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_vector_does_not_depend_on_its_batch_mates(plain, words, size, monkeypatch):
    monkeypatch.setattr("convqa.models.engines.torch.runtime.MAX_BATCH_TOKENS", {"cpu": 100})
    texts = [" ".join(words[5 : 6 + place % 13]) for place in range(64)]
    encoder = load_encoder(str(plain))
    parts = [encoder.encode(texts[start : start + size]) for start in range(0, len(texts), size)]
    assert np.allclose(np.concatenate(parts), encoder.encode(texts), atol=1e-5)


def test_batches_keep_their_budget_and_put_like_lengths_together():
    from convqa.models.engines.torch.runtime import batches

    lengths = [3, 9, 1, 9, 2, 30, 3]
    made = batches(lengths, 12)
    assert sorted(place for batch in made for place in batch) == list(range(7))
    assert made == [[2, 4, 0, 6], [1], [3], [5]]
    assert batches([], 12) == [] and batches([1, 1], 0) == [[0], [1]]


def test_bfloat16_is_near_float32_and_sequences_run_alone_on_a_cpu(plain):
    rough, exact = load_encoder(str(plain), Options(precision="bfloat16")), load_encoder(str(plain))
    assert rough.identity != exact.identity and rough.checksum == exact.checksum
    made = rough.encode(TEXTS)
    assert np.allclose(made, exact.encode(TEXTS), atol=0.05) and not np.allclose(made, exact.encode(TEXTS), atol=1e-6)
    for text, vector in zip(TEXTS, made, strict=True):
        assert np.array_equal(rough.encode([text])[0], vector)


def test_a_device_that_is_not_there_is_refused(plain):
    torch = pytest.importorskip("torch")
    absent = "mps" if torch.cuda.is_available() else "cuda"
    with pytest.raises(InputError, match=f"device {absent}: torch .* sees only .*cpu on this machine"):
        load_encoder(str(plain), Options(device=absent))


def test_models_that_write_are_no_encoders(transformers, tmp_path):
    config = transformers.T5Config(vocab_size=32, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
    transformers.T5ForConditionalGeneration(config).save_pretrained(tmp_path)
    with pytest.raises(InputError, match="expected a model of kind 'encoder', got a t5"):
        load_encoder(str(tmp_path))


def test_weights_of_another_architecture_are_refused(make_bert):
    folder = make_bert("BertModel")
    file = folder / "config.json"
    for changes, message in (
        ({"model_type": "distilbert", "architectures": ["DistilBertModel"]}, "the weights lack .* tensors"),
        ({"intermediate_size": 64}, "the weights have other shapes|cannot be loaded"),
        ({"model_type": "new-kind"}, r"config\.json cannot be loaded"),
    ):
        before = file.read_text()
        file.write_text(json.dumps({**json.loads(before), **changes}))
        with pytest.raises(InputError, match=message):
            load_encoder(str(folder))
        file.write_text(before)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "sentence_bert_config.json",
            {"max_seq_length": "abc"},
            r"sentence_bert_config\.json: max_seq_length: .*got 'abc'",
        ),
        (
            "sentence_bert_config.json",
            {"max_seq_length": -5},
            "max_seq_length: expected 1 or more, got -5",
        ),
        ("tokenizer_config.json", {"model_max_length": "long"}, "model_max_length: .*got 'long'"),
        ("config_sentence_transformers.json", {"prompts": [1]}, r"prompts: expected an object, got \[1\]"),
        ("config_sentence_transformers.json", {"prompts": {"query": 3}}, r"prompts\.query: .*got 3"),
    ],
)
def test_settings_that_no_model_has_are_refused(make_bert, name, content, message):
    folder = make_bert("BertModel")
    (folder / name).write_text(json.dumps(content))
    with pytest.raises(InputError, match=message):
        load_encoder(str(folder))


def test_settings_may_say_nothing(make_bert):
    folder = sentence_transformers(
        make_bert("BertModel"),
        **{"config_sentence_transformers.json": {"prompts": None},
           "sentence_bert_config.json": {"max_seq_length": None},
           "tokenizer_config.json": {"model_max_length": int(1e30)}, "1_Pooling/config.json": {"pooling_mode": "mean"}},
    )  # fmt: skip
    assert load_encoder(str(folder)).max_tokens == 32


FAMILIES = {
    "Bert": ("BertForMaskedLM", "BertForPreTraining", "BertForQuestionAnswering"),
    "Roberta": ("RobertaModel", "RobertaForMaskedLM"),
    "XLMRoberta": ("XLMRobertaModel", "XLMRobertaForMaskedLM"),
    "MPNet": ("MPNetModel", "MPNetForMaskedLM"),
    "DistilBert": ("DistilBertModel", "DistilBertForMaskedLM"),
    "Electra": ("ElectraForPreTraining",),
    "Albert": ("AlbertForMaskedLM",),
}


@pytest.mark.parametrize(("family", "model"), [(family, one) for family, names in FAMILIES.items() for one in names])
def test_encoders_with_another_head_load_if_files_name_a_pooling(
    transformers, words, save_tokenizer, tmp_path, family, model
):
    sizes = {"vocab_size": len(words), "max_position_embeddings": 32}
    if family == "DistilBert":
        sizes |= {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 16}
    else:
        sizes |= {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    config = getattr(transformers, f"{family}Config")(**sizes)
    getattr(transformers, model)(config).save_pretrained(tmp_path)
    save_tokenizer(words, tmp_path)
    if model.endswith(("ForMaskedLM", "ForQuestionAnswering")):
        with pytest.raises(InputError, match=r"expected a model of kind 'encoder', got a \S+, which (predicts|reads)"):
            load_encoder(str(tmp_path))
        sentence_transformers(tmp_path)  # such as all-mpnet-base-v2
    assert load_encoder(str(tmp_path)).encode(["faust"]).shape == (1, 16)


def reconfigure(folder, **changes):
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    return str(folder)


@pytest.mark.parametrize("heads", [None, [], ["Contriever"], ["pipeline"]])
def test_architectures_that_say_nothing_are_no_reason_to_refuse(make_bert, heads):
    assert load_encoder(reconfigure(make_bert("BertModel"), architectures=heads)).dimension == 16


def test_damaged_weights_are_refused(make_bert):
    folder = make_bert("BertModel")
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"the model cannot be loaded .* Copy the model again"):
        load_encoder(str(folder))


def test_a_model_without_a_tokenizer_is_refused(make_bert):
    folder = make_bert("BertModel")
    for file in folder.glob("*token*"):
        file.unlink()
    with pytest.raises(InputError, match="the model has no tokenizer"):
        load_encoder(str(folder))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"1_Pooling/config.json": {"pooling_mode_max_tokens": True}}, "got pooling_mode_max_tokens"),
        ({"modules.json": [{"path": "", "type": "x.Transformer"}, {"path": "2", "type": "x.Dense"}]}, "got Dense"),
        ({"modules.json": {}}, "modules: expected a list, got {}"),
        ({"modules.json": [{"type": 3}]}, r"modules\[0\]\.type: .*got 3"),
        ({"1_Pooling/config.json": {"pooling_mode": 5}}, "pooling_mode.*: .*got 5"),
        ({"1_Pooling/config.json": []}, "expected an object"),
    ],
)
def test_steps_that_convqa_does_not_know_are_refused(make_bert, files, message):
    with pytest.raises(InputError, match=message):
        load_encoder(str(sentence_transformers(make_bert("BertModel"), **files)))


@pytest.mark.parametrize("labels", [1, 2])
def test_a_scorer_gives_what_transformers_gives(transformers, make_bert, labels):
    torch = pytest.importorskip("torch")
    folder = make_bert("BertForSequenceClassification", num_labels=labels)
    pairs = [("who wrote faust ?", "goethe wrote faust"), ("who", "a play"), ("x", "faust")]
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    encode = transformers.AutoTokenizer.from_pretrained(folder)
    scorer = load_pair_scorer(str(folder))
    for pair, score in zip(pairs, scorer.score(pairs), strict=True):
        with torch.inference_mode():
            logits = model(**encode(*pair, return_tensors="pt", return_token_type_ids=True)).logits[0]
        wanted = logits[0] if labels == 1 else logits[1] - logits[0]
        assert score == pytest.approx(float(wanted), abs=1e-5)
    assert scorer.score([]).shape == (0,)


def test_models_that_score_nothing_are_refused(make_bert):
    with pytest.raises(InputError, match=r"the weights lack 2 tensors, such as classifier\.bias"):
        load_pair_scorer(str(make_bert("BertModel")))
    with pytest.raises(InputError, match="kind 'pairs', got the labels LABEL_0, LABEL_1"):
        load_pair_scorer(str(make_bert("BertForSequenceClassification", num_labels=5)))


@pytest.fixture(scope="module")
def exported(cls, make_bert, tmp_path_factory):
    """The encoder and a scorer, exported."""
    pytest.importorskip("onnx")
    from convqa.models.export import export

    folder = tmp_path_factory.mktemp("exported")
    export(str(cls), folder / "encoder")
    export(str(make_bert("BertForSequenceClassification", num_labels=1)), folder / "pairs")
    return folder


def test_an_exported_encoder_gives_the_same_vectors(cls, exported):
    one, two = load_encoder(str(cls)), load_encoder(str(exported / "encoder"))
    assert (two.dimension, two.max_tokens, str(two.runs)) == (16, 7, "onnx float32 on cpu")
    for role in ("query", "passage"):
        assert np.allclose(one.encode(TEXTS, role), two.encode(TEXTS, role), atol=1e-5)


def test_an_exported_scorer_gives_the_same_scores(make_bert, exported):
    one = load_pair_scorer(str(make_bert("BertForSequenceClassification", num_labels=1)))
    two = load_pair_scorer(str(exported / "pairs"))
    pairs = [("who wrote faust ?", "goethe wrote faust"), ("who", "a play"), ("faust", "it is a play and " * 9)]
    assert np.allclose(one.score(pairs), two.score(pairs), atol=1e-4)


def test_a_quantized_model_is_near(cls, exported, tmp_path):
    from convqa.models.export import export

    export(str(cls), tmp_path / "int8", "int8")
    one, two = load_encoder(str(exported / "encoder")), load_encoder(str(tmp_path / "int8"))
    cosines = (one.encode(TEXTS) * two.encode(TEXTS)).sum(axis=1)
    assert 0.98 < cosines.min() < cosines.max() <= 1.00001
    assert str(two.runs) == "onnx int8 on cpu" and two.checksum != one.checksum and two.family == one.family


def test_what_is_exported_runs_on_the_cpu_whatever_is_asked(exported):
    assert str(load_encoder(str(exported / "encoder"), Options("cuda", "bfloat16")).runs) == "onnx float32 on cpu"


def test_what_cannot_be_exported_is_refused(plain, exported, tmp_path):
    from convqa.models.export import export

    with pytest.raises(InputError, match="is already exported"):
        export(str(exported / "encoder"), tmp_path / "again")
    with pytest.raises(InputError, match="already exists"):
        export(str(plain), exported / "encoder")
