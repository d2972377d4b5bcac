"""Support checks by name: without a model, the shipped head, and models of entailment."""

from __future__ import annotations

import json
import shutil

import pytest

from convqa.errors import InputError, WorkError
from convqa.models import Options, load_encoder, load_support
from convqa.models.check import check
from convqa.models.kinds.support import FEATURES, Support, features
from convqa.models.source import SHIPPED
from convqa.text.support import CAP, lexical_support

FAUST = "Faust is a play. Goethe wrote it in 1808, in Weimar. It was not finished until 1831."
PAIRS = [
    (FAUST, "Goethe wrote Faust in 1808."),
    (FAUST, "Goethe wrote Faust in 1809."),
    ("The river is long. Boats go up and down.", "Goethe wrote Faust in 1808."),
    ("", "Goethe wrote Faust."),
    (FAUST, " "),
]


def named(row):
    return dict(zip(FEATURES, row.tolist(), strict=True))


def test_lexical_asks_no_model():
    support = load_support("lexical")
    assert support.score(PAIRS) == [lexical_support(*pair) for pair in PAIRS]
    assert support.identity == load_support("lexical").identity != load_support().identity


def test_the_shipped_head_tells_evidence_from_what_is_none():
    scores = load_support().score(PAIRS)
    assert scores[0] > 0.5 > max(scores[1:]) and scores[3:] == [0, 0]
    assert load_support() is load_support("support")


def test_a_score_does_not_depend_on_its_neighbors():
    support = load_support()
    assert support.score(PAIRS) == [support.score([pair])[0] for pair in PAIRS]
    assert support.score([]) == []


def test_the_features_of_a_pair():
    rows = features(load_encoder("encoder"), [*PAIRS[:3], ("Goethe wrote Faust in 1808.", PAIRS[0][1])])
    good, wrong, other, same = map(named, rows)
    assert (good["share"], good["numbers"], good["opposed"]) == (1, 1, 0)
    assert wrong["numbers"] == 0 and wrong["share"] < 1
    assert good["cosine"] > other["cosine"] and good["nearest"] > other["nearest"]
    assert same["nearest"] == same["cosine"] == pytest.approx(1, abs=1e-3) and same["pairs"] == 1
    assert features(load_encoder("encoder"), []).shape == (0, len(FEATURES))


def test_near_is_what_two_neighboring_sentences_have():
    evidence = "The plays of Goethe. The city is old. The river is long. Printed, as he wrote it, in 1808: Faust."
    (found,) = map(named, features(load_encoder("encoder"), [(evidence, "In 1808 he, Goethe, wrote it.")]))
    assert (found["share"], found["names"], found["near names"]) == (1, 1, 1)
    assert (found["numbers"], found["near numbers"]) == (1, 0)


TOWER = (
    "Eiffel Tower\nThe Eiffel Tower is a tower of wrought iron in Paris, France. It is named after the engineer "
    "Gustave Eiffel, whose company designed and built it from 1887 to 1889. It is 330 metres tall and open to visitors."
)


@pytest.mark.parametrize(
    ("evidence", "sentence", "supported"),
    [
        (TOWER, "He died.", False),
        (TOWER, "Yes.", False),
        (TOWER, "It was demolished.", False),
        (TOWER, "It was demolished in Paris.", False),
        (TOWER, "The tower burned.", False),
        (TOWER, "It is 124 metres tall.", False),
        (TOWER, "It is not tall.", False),
        ("Dogs bark.", "Cats sleep a lot.", False),
        (TOWER, "It is tall.", True),
        (TOWER, "It is in Paris.", True),
        (TOWER, "It is 330 metres tall.", True),
        (TOWER, "It is named after Gustave Eiffel.", True),
        ("Dogs bark. Cats sleep a lot.", "Cats sleep.", True),
    ],
)
def test_a_short_sentence_is_no_better_for_it(evidence, sentence, supported):
    assert (load_support().score([(evidence, sentence)])[0] >= 0.5) == supported


def test_long_evidence_is_read_to_its_end():
    evidence = "The river is long and boats go up and down. " * 100 + FAUST
    assert load_support().score([(evidence, PAIRS[0][1])])[0] > 0.5


@pytest.fixture
def copied(tmp_path):
    return shutil.copytree(SHIPPED / "support", tmp_path / "copied")


def change(folder, **settings):
    file = folder / "convqa.json"
    manifest = json.loads(file.read_text())
    file.write_text(json.dumps({**manifest, "settings": {**manifest["settings"], **settings}}))


def test_another_head_is_loaded_by_its_folder(copied):
    change(copied, offset=100.0)
    assert load_support(str(copied)).score(PAIRS[:2]) == [1, 1]
    assert load_support(str(copied)).identity != load_support().identity


@pytest.mark.parametrize("sentence", ["He died.", "Yes.", "Boats go up the river.", "Schiller?", "It isn't a play."])
def test_without_a_word_of_the_evidence_no_weights_let_a_sentence_pass(copied, sentence):
    change(copied, offset=100.0)
    assert load_support(str(copied)).score([(FAUST, sentence)]) == [CAP]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"offset": "high"}, "offset: expected a number, got 'high'"),
        ({"weights": {"share": 1.0}}, "weights: expected share, pairs, .*, got share"),
        ({"checksum": "0"}, "expected the encoder 'encoder' with the checksum 0, got"),
        ({"encoder": "nowhere"}, "unknown model 'nowhere'"),
    ],
)
def test_a_head_that_is_not_whole_is_refused(copied, settings, message):
    change(copied, **settings)
    with pytest.raises(InputError, match=message):
        load_support(str(copied))


def test_a_model_of_another_kind_is_refused():
    with pytest.raises(InputError, match=r"expected a model of kind 'support', got kind 'encoder'"):
        load_support("encoder")
    with pytest.raises(InputError, match="Did you mean 'support'"):
        load_support("suport")


def test_what_is_no_score_is_an_error():
    broken = Support("broken", "", "", lambda pairs, _: [float("nan")] * len(pairs))
    with pytest.raises(WorkError, match="the support check 'broken' returned invalid numbers"):
        broken.score(PAIRS)


def test_check_runs_a_support_check(monkeypatch):
    monkeypatch.setattr("convqa.models.check._SAMPLE_PASSAGES", 1)
    found = check("support")
    assert found["kind"] == "support" and found["speed"].endswith("texts/s (1 texts)")


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "goethe", "wrote", "faust", "schiller", "it", "is", "a", "play", "."]
NLI = {0: "CONTRADICTION", 1: "Entailment", 2: "neutral"}


@pytest.fixture
def entailment(tmp_path):
    """``entailment({0: "entailment", ...})`` -> the folder of a tiny classifier with these labels."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    import tokenizers

    def made(labels, words=24):
        transformers.set_seed(5)
        config = transformers.BertConfig(
            vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=words, initializer_range=0.5, id2label=labels,
            label2id={name: number for number, name in labels.items()},
        )  # fmt: skip
        transformers.BertForSequenceClassification(config).save_pretrained(tmp_path / "nli")
        plain = tokenizers.Tokenizer(
            tokenizers.models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]")
        )
        plain.normalizer = tokenizers.normalizers.Lowercase()
        plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        plain.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
            model_max_length=words,
        ).save_pretrained(tmp_path / "nli")  # fmt: skip
        return tmp_path / "nli"

    return made


def by_hand(folder, pairs, label):
    """What transformers' own classes give, one pair at a time."""
    import torch
    import transformers

    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        return [
            torch.softmax(model(**tokenizer(*pair, return_tensors="pt", return_token_type_ids=True)).logits[0], -1)[
                label
            ].item()
            for pair in pairs
        ]


@pytest.mark.models
@pytest.mark.parametrize(("labels", "label"), [(NLI, 1), ({0: "entailment", 1: "not_entailment"}, 0)])
def test_a_model_of_entailment_reads_evidence_first(entailment, labels, label):
    folder = entailment(labels)
    pairs = [("Goethe wrote Faust.", "Faust is a play."), ("Schiller wrote it.", "Goethe wrote it.")]
    support = load_support(str(folder), Options(precision="float32"))
    assert support.score(pairs) == pytest.approx(by_hand(folder, pairs, label), abs=1e-5)
    assert support.score([("", "Faust.")]) == [0] and "torch float32" in support.identity
    assert check(str(folder))["kind"] == "support"


@pytest.mark.models
def test_long_evidence_is_read_in_windows_and_the_highest_counts(entailment):
    folder = entailment(NLI, words=20)
    said = "Goethe wrote Faust."
    parts = ["Schiller is a play.", "It is a play.", "Goethe wrote it.", "Faust wrote Schiller."]
    windows = [(" ".join(parts[:2]), said), (" ".join(parts[1:3]), said), (" ".join(parts[2:]), said)]
    support = load_support(str(folder), Options(precision="float32"))
    made = support.score([(" ".join(parts), said), *windows])
    assert made[0] == pytest.approx(max(made[1:]), abs=1e-5)
    assert made[1:] == pytest.approx(by_hand(folder, windows, 1), abs=1e-5)


@pytest.mark.models
def test_a_sentence_too_long_for_a_window_is_cut(entailment):
    support = load_support(str(entailment(NLI)), Options(precision="float32"))
    assert 0 <= support.score([("it is " * 100 + ". A play.", "Goethe wrote it. " * 20)])[0] <= 1


@pytest.mark.models
@pytest.mark.parametrize("labels", [{0: "LABEL_0", 1: "LABEL_1"}, {0: "not entailed", 1: "neutral"}])
def test_a_classifier_without_entailment_is_refused(entailment, labels):
    with pytest.raises(InputError, match=rf"kind 'support', got .* with the labels {labels[0]}, "):
        load_support(str(entailment(labels)))


@pytest.mark.models
def test_a_model_that_classifies_nothing_is_refused(entailment):
    folder = entailment(NLI)
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "architectures": ["BertModel"]}))
    with pytest.raises(InputError, match="BertModel with the labels"):
        load_support(str(folder))
