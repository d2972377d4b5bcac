"""Passages a second of the encoder that ships: our engines beside sentence-transformers and fastembed, in one run.

    python benchmarks/encoding_speed.py [--passages 200] [--rounds 3]

All run the same weights on the same passages of the bundled example: those of the shipped int8 graph, and the same in
float32 as a folder of transformers, which is made here, with its ONNX export. The rounds alternate between the ways;
the best of each counts. ``cosine`` is the least with the vectors of torch in float32. Needs the packages
sentence-transformers and fastembed beside convqa and its extra models; what is not installed is left out.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from _common import table

from convqa.models import Options, load_encoder
from convqa.models.engines import choose
from convqa.models.export import export
from convqa.models.folder import ONNX, TOKENIZER
from convqa.models.source import find_model
from convqa.places import shipped

Encode = Callable[[Sequence[str]], np.ndarray]
LONGEST = 256


def folder_of_transformers(target: Path) -> Path:
    """The shipped encoder's weights as transformers keeps them."""
    from transformers import PreTrainedTokenizerFast

    from convqa.models.engines.torch.networks import load_exported

    folder = find_model("encoder")
    network, _, _ = load_exported(folder, choose(folder, Options(precision="float32", engine="torch")), "encoder")
    network.trunk.save_pretrained(target)
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder.path / TOKENIZER), model_max_length=LONGEST, mask_token="[MASK]", **names
    )
    tokenizer.save_pretrained(target)
    return target


def ours(name: str, **options: str) -> Encode:
    model = load_encoder(name, Options(**options))  # type: ignore[arg-type]
    return lambda texts: model.encode(texts)


def sentence_transformers(folder: Path, precision: str) -> Encode:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    trunk = Transformer(str(folder), max_seq_length=LONGEST)
    model = SentenceTransformer(modules=[trunk, Pooling(trunk.get_embedding_dimension()), Normalize()])
    model = model.to(getattr(torch, precision))
    return lambda texts: model.encode(list(texts), convert_to_tensor=True).float().cpu().numpy()


def fastembed(graph: Path, files: Path, scratch: Path) -> Encode:
    """Our graph, which pools by itself, as a custom model of fastembed."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    folder = shutil.copytree(files, scratch)
    shutil.copy(graph, folder / ONNX)
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    name = f"local/{scratch.name}"
    TextEmbedding.add_custom_model(
        model=name, pooling=PoolingType.DISABLED, normalization=False, sources=ModelSource(hf=name), dim=384,
        model_file=ONNX,
    )  # fmt: skip
    model = TextEmbedding(name, specific_model_path=str(folder))
    return lambda texts: np.stack(list(model.embed(texts)))


def ways(scratch: Path) -> dict[str, Encode]:
    files = folder_of_transformers(scratch / "transformers")
    export(str(files), scratch / "float32")
    found = {
        "convqa, ONNX int8 (as it ships)": ours("encoder"),
        "convqa, ONNX float32": ours(str(scratch / "float32")),
        "convqa, torch float32": ours("encoder", device="cpu", precision="float32", engine="torch"),
        "convqa, torch bfloat16": ours("encoder", device="cpu", precision="bfloat16", engine="torch"),
    }
    if find_spec("sentence_transformers"):
        found["sentence-transformers, torch float32"] = sentence_transformers(files, "float32")
        found["sentence-transformers, torch bfloat16"] = sentence_transformers(files, "bfloat16")
    if find_spec("fastembed"):
        found["fastembed, ONNX int8"] = fastembed(find_model("encoder").path / ONNX, files, scratch / "fast-int8")
        found["fastembed, ONNX float32"] = fastembed(scratch / "float32" / ONNX, files, scratch / "fast-float32")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with gzip.open(shipped("examples", "qrecc-trec", "passages.jsonl.gz"), "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in itertools.islice(lines, options.passages)]
    with tempfile.TemporaryDirectory() as scratch:
        encode = ways(Path(scratch))
        made = {name: way(texts[:32]) for name, way in encode.items()}
        seconds: dict[str, list[float]] = {name: [] for name in encode}
        for _ in range(options.rounds):
            for name, way in encode.items():
                start = time.perf_counter()
                way(texts)
                seconds[name].append(time.perf_counter() - start)
    rates = {name: len(texts) / min(spent) for name, spent in seconds.items()}
    base, exact = next(iter(rates.values())), made["convqa, torch float32"]
    table(
        ["way", "passages/s", "of the first", "cosine"],
        (
            [n, f"{rate:.1f}", f"{rate / base:.2f}", f"{(made[n] * exact).sum(1).min():.4f}"]
            for n, rate in rates.items()
        ),
    )


if __name__ == "__main__":
    main()
