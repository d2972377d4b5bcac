"""Support checks by name: without a model, and models of entailment."""

from __future__ import annotations

import pytest

from convqa.errors import InputError
from convqa.models import Options, load_support
from convqa.text.support import lexical_support

FAUST = "Faust is a play. Goethe wrote it in 1808, in Weimar. It was not finished until 1831."
PAIRS = [
    (FAUST, "Goethe wrote Faust in 1808."),
    (FAUST, "Goethe wrote Faust in 1809."),
    ("The river is long. Boats go up and down.", "Goethe wrote Faust in 1808."),
    ("", "Goethe wrote Faust."),
    (FAUST, " "),
]


def test_lexical_asks_no_model():
    support = load_support("lexical")
    assert support.score(PAIRS) == [lexical_support(*pair) for pair in PAIRS]
    assert support.identity == load_support("lexical").identity


@pytest.mark.parametrize("name", ["encoder", "reader"])
def test_a_model_of_another_kind_is_refused(name):
    with pytest.raises(InputError, match=f"expected a model of kind 'support', got kind '{name}'"):
        load_support(name)


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "goethe", "wrote", "faust", "schiller", "it", "is", "a", "play", "."]
NLI = {0: "CONTRADICTION", 1: "Entailment", 2: "neutral"}


@pytest.fixture
def entailment(tmp_path):
    """``entailment({0: "entailment", ...})`` -> the folder of a tiny classifier with these labels."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    import tokenizers

    def made(labels):
        transformers.set_seed(5)
        config = transformers.BertConfig(
            vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=24, initializer_range=0.5, id2label=labels,
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
            model_max_length=24,
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


@pytest.mark.models
def test_a_sentence_too_long_for_a_window_is_cut(entailment):
    support = load_support(str(entailment(NLI)), Options(precision="float32"))
    assert 0 <= support.score([("it is " * 100 + ". A play.", "Goethe wrote it. " * 20)])[0] <= 1


@pytest.mark.models
@pytest.mark.parametrize("labels", [{0: "LABEL_0", 1: "LABEL_1"}, {0: "not entailed", 1: "neutral"}])
def test_a_classifier_without_entailment_is_refused(entailment, labels):
    with pytest.raises(InputError, match=rf"kind 'support', got the labels {labels[0]}, "):
        load_support(str(entailment(labels)))
