"""How much do encoders lose against each other, how fast is ours, and how should its threads wait?

    python benchmarks/encoders.py compare ENCODER OTHER ... [--sets inscit_dev cast2020] [--data ../shared/data]
    python benchmarks/encoders.py speed [--passages 200] [--rounds 3]
    python benchmarks/encoders.py threads ENCODER [TORCH_FOLDER] [--neighbors 2] [--passages 64]

``compare`` prints cosines of the vectors and MRR@10 of plain questions over a closed set. An encoder is a name, or
NAME:PRECISION. The first is the reference: its questions also search the vectors of the others ("mixed"), as when a GPU
encodes the passages and a laptop the questions. A passage is title and text. Questions are the original ones, without
history; turns without a gold passage are left out.

``speed`` prints passages/s of the shipped encoder, of sentence-transformers and of fastembed, with the same weights on
the passages of the bundled example: the shipped int8 graph, the model of transformers that it was exported from, and
that model's float32 export. The rounds alternate; the best counts. ``cosine`` is the smallest cosine with torch's
float32 vectors. Needs sentence-transformers, fastembed and the extra models; rows of missing packages are left out.

``threads`` prints texts/s. Each way runs in its own process, first on an idle machine, then with processes that only
count. ``workers`` is convqa's way (one thread per sequence, several sequences at once). ``intra`` gives ONNX Runtime
all threads for each sequence, with or without spinning. ``torch`` batches by length, with OpenMP's threads spinning
(the default) or sleeping while they wait.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from _common import arguments, own_process, rates, table

from convqa.metrics.ranking import reciprocal_rank
from convqa.models import Options, TextEncoder, load_encoder
from convqa.models.export import export
from convqa.models.folder import ONNX
from convqa.models.source import find_model
from convqa.models.types import load_tokenizer
from convqa.places import shipped

Encode = Callable[[Sequence[str]], np.ndarray]
LONGEST = 256
BASE = "sentence-transformers/all-MiniLM-L6-v2"
"""The model that the shipped encoder was exported from."""


def example(count: int) -> list[str]:
    """Return the texts of the bundled example."""
    with gzip.open(shipped("examples", "qrecc-trec", "passages.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in itertools.islice(lines, count)]


def compare(options: argparse.Namespace) -> None:
    named = [name.partition(":")[::2] for name in options.encoders]
    encoders = [load_encoder(name, Options(precision=precision or "auto")) for name, precision in named]
    for name in options.sets:
        report(options.data / "conversations" / name, encoders)


def report(folder: Path, encoders: list[TextEncoder]) -> None:
    lines = (folder / "passages.jsonl").read_text(encoding="utf-8").strip().split("\n")
    passages = [json.loads(line) for line in lines]
    texts = [f"{passage.get('title') or ''} {passage['text']}".strip() for passage in passages]
    asked = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    truth = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    gold = {(turn["Conversation_no"], turn["Turn_no"]): turn["Truth_passages"] for turn in truth}
    turns = [(turn["Question"], gold[turn["Conversation_no"], turn["Turn_no"]]) for turn in asked]
    turns = [(question, relevant) for question, relevant in turns if relevant]
    found = [(one.encode(texts), one.encode([question for question, _ in turns], "query")) for one in encoders]
    for encoder, made in zip(encoders[1:], found[1:], strict=True):
        for kind, one, other in zip(("passages", "questions"), found[0], made, strict=True):
            cosines = (one * other).sum(axis=1)
            about = f"{folder.name}: {len(one)} {kind} of {encoder.name} ({encoder.runs})"
            print(f"{about}: cosine mean {cosines.mean():.4f}, minimum {cosines.min():.4f}")
    ids = [passage["id"] for passage in passages]
    ways = [(f"{encoder.name} ({encoder.runs})", *made) for encoder, made in zip(encoders, found, strict=True)]
    ways += [(f"mixed with {name}", matrix, found[0][1]) for name, matrix, _ in ways[1:]]
    for name, matrix, queries in ways:
        best = np.argsort(-(queries @ matrix.T), axis=1, kind="stable")[:, :10]
        ranked = [[ids[place] for place in row] for row in best]
        scores = [reciprocal_rank(relevant, row, 10) for (_, relevant), row in zip(turns, ranked, strict=True)]
        print(f"{folder.name}: MRR@10 of {name}: {np.mean(scores):.4f} of {len(scores)} turns", flush=True)


def ours(name: str, **options: str) -> Encode:
    model = load_encoder(name, Options(**options))  # type: ignore[arg-type]
    return model.encode


def sentence_transformers(folder: Path, precision: str) -> Encode:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    trunk = Transformer(str(folder), max_seq_length=LONGEST)
    model = SentenceTransformer(modules=[trunk, Pooling(trunk.get_embedding_dimension()), Normalize()])
    model = model.to(getattr(torch, precision))
    return lambda texts: model.encode(list(texts), convert_to_tensor=True).float().cpu().numpy()


def fastembed(graph: Path, files: Path, scratch: Path) -> Encode:
    """Load our graph, which pools itself, as a custom model of fastembed."""
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


def engines(scratch: Path) -> dict[str, Encode]:
    files = find_model(BASE).path
    export(BASE, scratch / "float32")
    found = {
        "convqa, ONNX int8 (shipped)": ours("encoder"),
        "convqa, ONNX float32": ours(str(scratch / "float32")),
        "convqa, torch float32": ours(BASE, device="cpu", precision="float32"),
        "convqa, torch bfloat16": ours(BASE, device="cpu", precision="bfloat16"),
    }
    if find_spec("sentence_transformers"):
        found["sentence-transformers, torch float32"] = sentence_transformers(files, "float32")
        found["sentence-transformers, torch bfloat16"] = sentence_transformers(files, "bfloat16")
    if find_spec("fastembed"):
        found["fastembed, ONNX int8"] = fastembed(find_model("encoder").path / ONNX, files, scratch / "fast-int8")
        found["fastembed, ONNX float32"] = fastembed(scratch / "float32" / ONNX, files, scratch / "fast-float32")
    return found


def speed(options: argparse.Namespace) -> None:
    texts = example(options.passages or 200)

    def encoding(way: Encode) -> Callable[[], int]:
        return lambda: len(way(texts))

    with tempfile.TemporaryDirectory() as scratch:
        ways = engines(Path(scratch))
        made = {name: way(texts[:32]) for name, way in ways.items()}
        found = rates({name: encoding(way) for name, way in ways.items()}, options.rounds)
    base, exact = next(iter(found.values())), made["convqa, torch float32"]

    def rows() -> Iterator[list[str]]:
        for name, rate in found.items():
            yield [name, f"{rate:.1f}", f"{rate / base:.2f}", f"{(made[name] * exact).sum(1).min():.4f}"]

    table(["way", "passages/s", "of the first", "cosine"], rows())


def threads(options: argparse.Namespace) -> None:
    encoder, *torch_folder = options.encoders
    ways = ["workers", "intra-asleep", "intra-spinning", *(["torch-asleep", "torch-spinning"] if torch_folder else [])]
    for way in ways:
        spinning = {"OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": "30000000000"} if way == "torch-spinning" else {}
        name, env = torch_folder[0] if way.startswith("torch") else encoder, {**os.environ, **spinning}
        work = ["threads", name, "--passages", options.passages or 64, "--way", way]
        alone = own_process(__file__, *work, env=env)
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.neighbors)]
        try:
            beside = own_process(__file__, *work, env=env)
        finally:
            for process in busy:
                process.kill()
        print(f"{way:<16} alone {alone:6.1f} texts/s   with {options.neighbors}: {beside:6.1f} texts/s")


def texts_a_second(options: argparse.Namespace) -> float:
    """Measure one way in this process."""
    texts = example(options.passages)
    encode: Callable[[list[str]], object] = load_encoder(options.encoders[0]).encode
    if options.way.startswith("intra"):
        encode = whole_machine(find_model(options.encoders[0]).path, options.way == "intra-spinning")

    def work() -> int:
        encode(texts)
        return len(texts)

    return rates({"": work}, 2)[""]


def whole_machine(folder: Path, spinning: bool) -> Callable[[list[str]], None]:
    """Run ONNX Runtime with all threads for each sequence."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spinning)))
    session = ort.InferenceSession(str(folder / ONNX), options, providers=["CPUExecutionProvider"])
    tokenizer = load_tokenizer(folder, LONGEST)

    def encode(texts: list[str]) -> None:
        for sequence in tokenizer.texts(texts):
            ids = np.array([sequence.ids])
            session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})

    return encode


PARTS = {"compare": compare, "speed": speed, "threads": threads}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("what", choices=PARTS)
    parser.add_argument("encoders", nargs="*", default=["encoder"])
    parser.add_argument("--sets", nargs="+", default=["inscit_dev", "cast2020"], help="of compare")
    parser.add_argument("--passages", type=int, help="of speed and threads")
    parser.add_argument("--rounds", type=int, default=3, help="of speed")
    parser.add_argument("--neighbors", type=int, default=2, help="of threads")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        print(json.dumps(texts_a_second(options)))
    else:
        PARTS[options.what](options)


if __name__ == "__main__":
    main()
