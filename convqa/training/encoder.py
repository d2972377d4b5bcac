"""The conversational student: an encoder that reads question and history and gives the vector of the human rewrite.

Its teacher is the encoder that it starts from, untouched: the target of a turn is the teacher's vector of the rewrite
(Yu et al., "Few-Shot Conversational Dense Retrieval", SIGIR 2021, with the history in place of relevance judgements).
Plain texts take part with the teacher's own vectors as targets, so that questions and passages are encoded as before
and one model serves for both.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from convqa.models import load_encoder
from convqa.models.engines.torch import runtime
from convqa.models.engines.torch.networks import load_pooled
from convqa.models.export import export, quantize
from convqa.models.folder import CARD, ONNX, TOKENIZER, licence_of, open_folder, write_folder
from convqa.models.kinds.encoder import conversational
from convqa.models.tokens import Tokenizer
from convqa.models.types import Array, Choice
from convqa.training.card import card, name_of
from convqa.training.config import EncoderSettings
from convqa.training.data.records import read_lines, read_titled
from convqa.training.data.rewrites import Example, gather
from convqa.training.loop import fit, mask_of, padded
from convqa.training.train import Bench, Recipe, Scores, summary, trainable
from convqa.validation import Record

_BESIDE = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "modules.json",
    "sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json",
)  # fmt: skip
"""Files that a model of sentence-transformers has beside its weights."""

_USE = """It encodes passages and questions as the model that it was trained from does, and a question with its history
(`convqa.models.kinds.encoder.conversational`) near the vector of the self-contained question."""

_HELD_OUT = 300
"""Passages that do not train; with them it is seen how far the vectors of passages move."""


class Check(NamedTuple):
    """Texts of a set, and the vectors that the student should give them; ``before``: what the teacher gave them."""

    texts: list[str]
    wanted: Array
    before: Array


class Training(Recipe):
    """Texts, the teacher's vectors for them, and the student, which still is the teacher.

    ``sequences[i]`` should have the vector ``targets[i]``; ``turns`` and ``plain`` are for validation.
    """

    settings: EncoderSettings

    def __init__(self, settings: EncoderSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        examples, checks = gather(settings, bench.data)
        self.base = trainable(settings.base)
        torch.manual_seed(settings.seed)  # a base without a pooler gets one by chance; nothing uses it
        self.choice = Choice("torch", bench.device, "float32")  # type: ignore[arg-type]
        self.model, tokenizer, _ = load_pooled(self.base, self.choice)
        self.tokenizer = Tokenizer(tokenizer.inner, min(settings.longest, tokenizer.max_tokens))
        kept, passages = _passages(settings, bench)
        plain = _plain(settings, examples, passages)
        texts = [conversational(one.question, one.history) for one in examples] + plain
        self.sequences = self.tokenizer.texts(texts)
        wanted = [example.rewrite for example in examples] + plain
        self.targets = torch.from_numpy(self.vectors(wanted)).to(bench.device)
        self.turns = {name: self._check(some) for name, some in checks.items()}
        own = {"questions": [example.rewrite for example in checks["validation"]], "passages": kept}
        self.plain = {name: (texts, self.vectors(texts)) for name, texts in own.items() if texts}

    def vectors(self, texts: Sequence[str]) -> Array:
        """What the model makes of texts as it is now: (n, dimension), rows of length 1. A text is encoded once."""
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        made = runtime.rows(self.model, self.tokenizer.texts(list(numbers)), self._pad, self.choice)
        return np.stack([vector for (vector,) in made])[[numbers[text] for text in texts]]

    def fit(self) -> None:
        """Lower 1 - cosine to the targets."""
        device = self.bench.device

        def loss(places: Sequence[int]) -> Tensor:
            chosen = [self.sequences[place] for place in places]
            ids = padded([sequence.ids for sequence in chosen], self._pad, device)
            types = padded([sequence.types for sequence in chosen], 0, device)
            mask = mask_of([sequence.ids for sequence in chosen], device)
            with torch.autocast(device, torch.bfloat16, enabled=self.bench.precision == "bfloat16"):
                made = self.model(ids, mask, types)
            wanted = self.targets[torch.tensor(places, device=device)]
            close: Tensor = (made.float() * wanted).sum(1)
            return 1.0 - close.mean()

        fit(self.model, [len(sequence) for sequence in self.sequences], loss, self.settings, self.bench)

    def validate(self) -> Scores:
        """Mean cosines to the vector of the human rewrite, and of plain texts to the vectors that they had."""
        scores: Scores = {}
        for name, check in self.turns.items():
            made = self.vectors(check.texts)
            both = made + check.before
            both /= np.linalg.norm(both, axis=1, keepdims=True)
            scores[name] = {
                "turns": len(check.texts),
                "student": float(_cosines(made, check.wanted).mean()),
                "student and question": float(_cosines(both, check.wanted).mean()),
                "question": float(_cosines(check.before, check.wanted).mean()),
            }
        for name, (texts, before) in self.plain.items():
            close = _cosines(self.vectors(texts), before)
            scores[f"plain {name}"] = {
                "texts": len(texts),
                "mean cosine": float(close.mean()),
                "least cosine": float(close.min()),
            }
        return scores

    def export(self, scores: Scores, target: Path) -> None:
        """Write ``torch`` (for GPUs) beside the target, and from it the target: int8 for ONNX Runtime, with a card."""
        folder = target.with_name(target.name.replace("model", "torch"))
        self.model.trunk.save_pretrained(folder)
        for name in _BESIDE:
            if (self.base.path / name).is_file():
                (folder / name).parent.mkdir(exist_ok=True)
                shutil.copyfile(self.base.path / name, folder / name)
        licence = licence_of(self.base.path)
        with tempfile.TemporaryDirectory(dir=self.bench.folder) as aside:
            export(str(folder), Path(aside) / "float32")
            quantize(str(Path(aside) / "float32"), Path(aside) / "int8")
            made = open_folder("int8", Path(aside) / "int8")
            assert made.manifest is not None
            texts = self.turns["validation"].texts
            close = _cosines(load_encoder(str(made.path)).encode(texts), self.vectors(texts))
            about = made.manifest.model_dump(exclude={"format", "files"})
            about |= {"name": target.name, "base": name_of(self.settings.base), "licence": licence}
            about["languages"] = self.base.languages
            lines = [*summary(scores), f"mean cosine of int8 to float32, validation: {close.mean():.4f}"]
            text = card("A conversational encoder", self.settings, lines, _USE, licence)
            files = {name: made.path / name for name in (ONNX, TOKENIZER)}
            write_folder(target, about, {**files, CARD: text.encode()})

    def _check(self, examples: Sequence[Example]) -> Check:
        return Check(
            [conversational(example.question, example.history) for example in examples],
            self.vectors([example.rewrite for example in examples]),
            self.vectors([example.question for example in examples]),
        )

    @property
    def _pad(self) -> int:
        return runtime.padding(self.model.config)


class _Summary(Record):
    extract: str


class _Passage(Record):
    text: str


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


def _cosines(one: Array, other: Array) -> Array:
    """Of rows of length 1."""
    found: Array = np.einsum("ij,ij->i", one, other)
    return found
