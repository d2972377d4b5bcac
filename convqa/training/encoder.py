"""The conversational student: an encoder that reads question and history and gives the vector of the human rewrite.

Its teacher is the encoder that it starts from, untouched: the target of a turn is the teacher's vector of the rewrite
(Yu et al., "Few-Shot Conversational Dense Retrieval", SIGIR 2021, with the history in place of relevance judgements).
Plain texts take part with the teacher's own vectors as targets, so that questions and passages are encoded as before
and one model serves for both.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from convqa.models import load_encoder
from convqa.models.engines.torch import runtime
from convqa.models.engines.torch.networks import Pooled, load_pooled
from convqa.models.export import export as to_graph
from convqa.models.export import quantize
from convqa.models.folder import CARD, ONNX, TOKENIZER, ModelFolder, licence_of, open_folder, write_folder
from convqa.models.kinds.encoder_input import conversational
from convqa.models.tokens import Tokenizer, Tokens
from convqa.models.types import Choice
from convqa.training.base import trainable
from convqa.training.card import card, name_of
from convqa.training.config import EncoderSettings
from convqa.training.data.records import read_lines, read_titled
from convqa.training.data.rewrites import Example
from convqa.training.data.split import silenced
from convqa.training.loop import fit as learn
from convqa.training.tensors import padded
from convqa.training.train import Bench, Scores, gather, mixed, plan_of, summary

Matrix = NDArray[np.float32]

_BESIDE = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "modules.json",
    "sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json",
)  # fmt: skip
"""Files that a model of sentence-transformers has beside its weights."""

_USE = """It encodes passages and questions as the model that it was trained from does, and a question with its history
(`convqa.models.kinds.encoder_input.conversational`) near the vector of the self-contained question."""

_HELD_OUT = 300
"""Passages that do not train; with them it is seen how far the vectors of passages move."""


@dataclass(frozen=True, slots=True)
class Check:
    """Texts of a set, and the vectors that the student should give them; ``before``: what the teacher gave them."""

    texts: list[str]
    wanted: Matrix
    before: Matrix


@dataclass(frozen=True, slots=True)
class Work:
    """``sequences[i]`` should have the vector ``targets[i]``; ``turns`` and ``plain`` are for validation."""

    settings: EncoderSettings
    bench: Bench
    base: ModelFolder
    model: Pooled
    tokenizer: Tokenizer
    sequences: list[Tokens]
    targets: Tensor
    turns: Mapping[str, Check]
    plain: Mapping[str, tuple[list[str], Matrix]]


def setup(settings: EncoderSettings, bench: Bench) -> Work:
    """Texts, the teacher's vectors for them, and the student, which still is the teacher."""
    found = gather(settings, bench.data)
    base = trainable(settings.base)
    torch.manual_seed(settings.seed)  # a base without a pooler gets one by chance; nothing uses it
    model, tokenizer, _ = load_pooled(base, _choice(bench.device))
    tokenizer = Tokenizer(tokenizer.inner, min(settings.longest, tokenizer.max_tokens))
    examples = silenced(mixed(settings, found), settings.silent, settings.seed)
    kept, passages = _passages(settings, bench)
    plain = _plain(settings, examples, passages)
    teach = _Teacher(model, tokenizer, bench, base.checksum())
    targets = teach([example.rewrite for example in examples] + plain)
    sequences = tokenizer.texts([conversational(one.question, one.history) for one in examples] + plain)
    turns = {name: _turns(some, teach) for name, some in {"validation": found.validation, **found.reported}.items()}
    own = {"questions": [example.rewrite for example in found.validation], "passages": kept}
    checks = {name: (texts, teach(texts)) for name, texts in own.items() if texts}
    placed = torch.from_numpy(targets).to(bench.device)
    return Work(settings, bench, base, model, tokenizer, sequences, placed, turns, checks)


def fit(work: Work) -> None:
    """Lower 1 - cosine to the targets."""
    device = work.bench.device

    def loss(places: Sequence[int]) -> Tensor:
        chosen = [work.sequences[place] for place in places]
        ids = padded([sequence.ids for sequence in chosen], _pad(work.model), device)
        mask = padded([[1] * len(sequence) for sequence in chosen], 0, device)
        types = padded([sequence.types for sequence in chosen], 0, device)
        with torch.autocast(device, torch.bfloat16, enabled=work.bench.precision == "bfloat16"):
            made = work.model(ids, mask, types)
        wanted = work.targets[torch.tensor(places, device=device)]
        close: Tensor = (made.float() * wanted).sum(1)
        return 1.0 - close.mean()

    lengths = [len(sequence) for sequence in work.sequences]
    learn(work.model, lengths, loss, plan_of(work.settings), work.bench.folder, progress=work.bench.progress)


def validate(work: Work) -> Scores:
    """Mean cosines to the vector of the human rewrite, and of plain texts to the vectors that they had."""
    scores: Scores = {}
    for name, check in work.turns.items():
        made = _vectors(work.model, work.tokenizer, check.texts, work.bench.device)
        both = made + check.before
        both /= np.linalg.norm(both, axis=1, keepdims=True)
        scores[name] = {
            "turns": len(check.texts),
            "student": float(_cosines(made, check.wanted).mean()),
            "student and question": float(_cosines(both, check.wanted).mean()),
            "question": float(_cosines(check.before, check.wanted).mean()),
        }
    for name, (texts, before) in work.plain.items():
        close = _cosines(_vectors(work.model, work.tokenizer, texts, work.bench.device), before)
        scores[f"plain {name}"] = {
            "texts": len(texts),
            "mean cosine": float(close.mean()),
            "least cosine": float(close.min()),
        }
    return scores


def export(work: Work, scores: Scores, target: Path) -> None:
    """Write ``torch`` (for GPUs) beside the target, and from it the target: int8 for ONNX Runtime, with its card."""
    folder = target.with_name(target.name.replace("model", "torch"))
    work.model.trunk.save_pretrained(folder)
    for name in _BESIDE:
        if (work.base.path / name).is_file():
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(work.base.path / name, folder / name)
    with tempfile.TemporaryDirectory(dir=work.bench.folder) as aside:
        to_graph(str(folder), Path(aside) / "float32")
        quantize(str(Path(aside) / "float32"), Path(aside) / "int8")
        made = open_folder("int8", Path(aside) / "int8")
        assert made.manifest is not None
        texts = work.turns["validation"].texts
        close = _cosines(
            load_encoder(str(made.path)).encode(texts), _vectors(work.model, work.tokenizer, texts, work.bench.device)
        )
        about = made.manifest.model_dump(exclude={"format", "files"})
        about |= {"name": target.name, "base": name_of(work.settings.base), "licence": licence_of(work.base.path)}
        lines = [*summary(scores), f"mean cosine of int8 to float32, validation: {close.mean():.4f}"]
        text = card("A conversational encoder", work.settings, lines, _USE, licence_of(work.base.path))
        write_folder(target, about, {ONNX: made.path / ONNX, TOKENIZER: made.path / TOKENIZER, CARD: text.encode()})


class _Summary(BaseModel):
    model_config = ConfigDict(strict=True)

    extract: str


class _Passage(BaseModel):
    model_config = ConfigDict(strict=True)

    text: str


class _Teacher:
    """The vectors of texts by the model as it is before training, each text once; kept in the training's folder."""

    def __init__(self, model: Pooled, tokenizer: Tokenizer, bench: Bench, checksum: str) -> None:
        self._model, self._tokenizer, self._bench, self._checksum = model, tokenizer, bench, checksum

    def __call__(self, texts: Sequence[str]) -> Matrix:
        """(n, dimension), rows of length 1."""
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        name = hashlib.sha256(orjson.dumps([self._checksum, self._tokenizer.max_tokens, *numbers])).hexdigest()[:16]
        path = self._bench.folder / "vectors" / f"{name}.npy"
        if path.exists():
            vectors: Matrix = np.load(path)
        else:
            vectors = _vectors(self._model, self._tokenizer, list(numbers), self._bench.device)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.with_suffix(".new").open("wb") as file:
                np.save(file, vectors)
            path.with_suffix(".new").replace(path)
        return vectors[[numbers[text] for text in texts]]


def _turns(examples: Sequence[Example], teach: _Teacher) -> Check:
    return Check(
        [conversational(example.question, example.history) for example in examples],
        teach([example.rewrite for example in examples]),
        teach([example.question for example in examples]),
    )


def _plain(settings: EncoderSettings, examples: Sequence[Example], passages: Sequence[str]) -> list[str]:
    """Questions, as they were asked and as they were rewritten, and as many passages."""
    chance = random.Random(settings.seed)
    number = len(examples) * settings.plain // 200
    asked = sorted({example.question for example in examples} | {example.rewrite for example in examples})
    return [*chance.sample(asked, min(number, len(asked))), *chance.sample(passages, min(number, len(passages)))]


def _passages(settings: EncoderSettings, bench: Bench) -> tuple[list[str], list[str]]:
    """Passages that only check, and passages that may train.

    The file: Wikipedia's summaries ({title: {"extract": text}}), or lines of {"text": ...}.
    """
    if not settings.plain or bench.data is None:
        return [], []
    path = bench.data / settings.passages
    wanted = 'passages: {title: {"extract": text}} or, in a file *.jsonl, lines of {"text": text}'
    if path.suffix == ".jsonl":
        found = {record.text for record in read_lines(path, _Passage, wanted)}
    else:
        found = {record.extract for record in read_titled(path, _Summary, wanted).values()}
    texts = sorted(found)
    random.Random(7).shuffle(texts)
    held = min(_HELD_OUT, len(texts) // 10)
    return texts[:held], texts[held:]


def _vectors(model: Pooled, tokenizer: Tokenizer, texts: Sequence[str], device: str) -> Matrix:
    made = runtime.rows(model, tokenizer.texts(texts), _pad(model), _choice(device))
    return np.stack([vector for (vector,) in made])


def _choice(device: str) -> Choice:
    return Choice("torch", device, "float32")  # type: ignore[arg-type]


def _pad(model: Pooled) -> int:
    return int(model.trunk.config.pad_token_id or 0)


def _cosines(one: Matrix, other: Matrix) -> Matrix:
    """Of rows of length 1."""
    found: Matrix = np.einsum("ij,ij->i", one, other)
    return found
