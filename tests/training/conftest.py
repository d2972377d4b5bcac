"""Examples of rewrites, and a tiny real encoder to train."""

from __future__ import annotations

import json

import pytest

PEOPLE = ["Goethe", "Schiller", "Kafka", "Zappa", "Curie", "Darwin", "Noether", "Kahlo", "Lovelace", "Turing"]
WORDS = "who what when where was is did he she it born die write a an the in of and ? . 's answer first passage about"


def examples(people=PEOPLE):
    """Lines of a file of rewrites: two turns of a conversation about each person."""
    for number, name in enumerate(people):
        said = {"question": f"Who was {name}?", "answer": f"{name} was answer {number}."}
        yield {
            "conversation": number,
            "question": "When was he born?",
            "history": [said],
            "rewrite": f"When was {name} born?",
        }
        yield {
            "conversation": number,
            "question": "Where did he die?",
            "history": [said, {"question": "When was he born?"}],
            "rewrite": f"Where did {name} die?",
        }


@pytest.fixture
def own(tmp_path):
    """A folder of examples that has only some to train on."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.jsonl").write_text("".join(json.dumps(record) + "\n" for record in examples()), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory):
    """A real BERT of some thousand random weights, as a folder that transformers wrote."""
    from convqa.errors import InputError
    from convqa.models.engines.torch.runtime import import_torch

    try:
        torch = import_torch()
    except InputError as error:
        pytest.skip(str(error))
    pytest.importorskip("onnx")
    import tokenizers
    import transformers

    folder = tmp_path_factory.mktemp("tiny-encoder")
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS.split(), *(name.lower() for name in PEOPLE)]
    plain = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({name: n for n, name in enumerate(names)}, unk_token="[UNK]")
    )
    plain.normalizer = tokenizers.normalizers.BertNormalizer()
    plain.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    plain.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        model_max_length=128,
    ).save_pretrained(folder)  # fmt: skip
    config = transformers.BertConfig(
        vocab_size=len(names), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=128,
    )  # fmt: skip
    torch.manual_seed(5)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return str(folder)
