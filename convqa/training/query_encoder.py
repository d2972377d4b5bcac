"""The recipe ``query_encoder``: encode a question with its history as the encoder encodes its human rewrite.

The student begins as the encoder whose vectors the passages have, and that encoder, unchanged, is its teacher (ConvDR:
Yu et al., SIGIR 2021). Passages that answer add a ranking loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from convqa.errors import InputError
from convqa.models import TextEncoder, load_encoder
from convqa.models.engines.torch.networks import TurnPooled
from convqa.models.engines.torch.transformers import load_config, load_module, tokenizer_of
from convqa.models.kinds.query_encoder import MAX_TOKENS, QueryEncoder, load_query_encoder
from convqa.models.kinds.resolver_input import lay_out
from convqa.training.config import QueryEncoderSettings
from convqa.training.examples import TRAIN, VALIDATION, SearchExample, SearchPassage, read, required_files
from convqa.training.loop import Bench, fit
from convqa.training.recipe import Recipe, Scores, trainable

PASSAGES = "passages"
"""Name of the file of passages, ``passages.jsonl``."""

_COSINE_FACTOR = 4.0
_RANKING_FACTOR = 0.5
_GOLD_FACTOR = 0.2
_TEMPERATURE = 0.05


class QueryEncoderTraining(Recipe):
    """Sequences (``ids``, ``types``), the teacher's vectors of rewrites and passages, and the network."""

    settings: QueryEncoderSettings
    use = """Encodes a question with its history as a vector for the search, where the encoder encodes its passages
(`convqa.components.retrievers.hybrid`). English."""

    def __init__(self, settings: QueryEncoderSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        self.checks = {
            label: read(path, SearchExample) for label, path in required_files(bench.data, VALIDATION).items()
        }
        self.examples: list[SearchExample] = []
        for path in required_files(bench.data, TRAIN).values():
            self.examples += [example for example in read(path, SearchExample) if example.rewrite or example.gold]
        settings.steps(len(self.examples))  # fails early, before the long work
        self.base = trainable(settings.base)
        self.tokenizer = tokenizer_of(self.base, MAX_TOKENS)
        self.tokenizer.inner.no_truncation()
        self.most = MAX_TOKENS
        self.teacher = load_encoder(settings.teacher)
        width = load_config(self.base).hidden_size
        if width != self.teacher.dimension:
            raise InputError(
                f"base: {settings.base} has {width} dimensions, the teacher {self.teacher.dimension}; "
                f"expected the same. Name the model that {settings.teacher} was made of."
            )
        self.passages = Passages(bench.data, self.teacher)
        self.gold = [self.passages.rows(example) for example in self.examples]
        self.targets = _targets(self.examples, self.teacher)
        layouts = [lay_out(one.question, one.history, self.tokenizer.inner, self.most) for one in self.examples]
        self.ids = [layout.ids for layout in layouts]
        self.types = [layout.types for layout in layouts]
        trunk = load_module(self.base, "AutoModel", "cpu", "float32")
        # A collection's vectors belong to the teacher, whose words the student shares.
        trunk.embeddings.word_embeddings.weight.requires_grad = False
        self.net = TurnPooled(trunk).to(bench.device)

    def fit(self) -> None:
        """Minimize the distance from the teacher's vector and ranking, and the rank of passages that answer."""
        fit(self.net, [len(ids) for ids in self.ids], self._batch_loss, self.settings, self.bench)

    def _batch_loss(self, indices: Sequence[int]) -> Tensor:
        (vectors,) = self.outputs([self.ids[index] for index in indices], [self.types[index] for index in indices])
        device = vectors.device
        targets = torch.stack([self.targets[index] for index in indices]).to(device)
        is_known = targets.abs().sum(1) > 0
        known = is_known.sum().clamp(min=1)
        matrix = self.passages.matrix.to(device)
        scores = vectors @ matrix.T / _TEMPERATURE
        cosine = ((1 - (vectors * targets).sum(1)) * is_known).sum() / known
        leads = self.passages.members("").to(device)
        wanted = functional.softmax(targets @ matrix[leads].T / _TEMPERATURE, 1)
        reached = functional.log_softmax(scores[:, leads], 1)
        ranking = (functional.kl_div(reached, wanted, reduction="none").sum(1) * is_known).sum() / known
        total = _COSINE_FACTOR * cosine + _RANKING_FACTOR * ranking
        losses = []
        for row, index in enumerate(indices):
            if self.gold[index]:
                members = self.passages.members(self.examples[index].collection).to(device)
                log_shares = functional.log_softmax(scores[row, members], 0)
                is_gold = torch.isin(members, torch.tensor(self.gold[index], device=device))
                losses.append(-log_shares[is_gold].mean())
        if losses:
            total = total + _GOLD_FACTOR * torch.stack(losses).mean()
        return total

    def learned(self) -> dict[str, Any]:
        return {"family": self.teacher.family}

    def validate(self, folder: Path) -> Scores:
        """Score by the rank of the first passage that answers, in its collection, and beside the question's own."""
        student = load_query_encoder(str(folder))
        return {name: score(student, self.teacher, examples, self.passages) for name, examples in self.checks.items()}


class Passages:
    """The passages of ``passages.jsonl`` with the teacher's vectors, ``matrix`` (n, dimension)."""

    def __init__(self, folder: Path, teacher: TextEncoder) -> None:
        passages: list[SearchPassage] = []
        for path in required_files(folder, PASSAGES).values():
            passages += read(path, SearchPassage)
        self._rows = {(passage.collection, passage.id): row for row, passage in enumerate(passages)}
        members: dict[str, list[int]] = {}
        for row, passage in enumerate(passages):
            members.setdefault(passage.collection, []).append(row)
        self._members = {collection: torch.tensor(rows) for collection, rows in members.items()}
        if "" not in members:
            raise InputError(f"{folder}: {PASSAGES}.jsonl: expected passages without a collection, got none.")
        self.matrix = torch.from_numpy(teacher.remembered([passage.text for passage in passages]))

    def members(self, collection: str) -> Tensor:
        """Return the rows of a collection; "" is that of no example."""
        return self._members[collection]

    def rows(self, example: SearchExample) -> list[int]:
        """Return the rows of the passages that answer."""
        keys = [(example.collection, id) for id in example.gold]
        return [self._rows[key] for key in keys if key in self._rows]


def _targets(examples: Sequence[SearchExample], teacher: TextEncoder) -> list[Tensor]:
    """Return the teacher's vector of each rewrite, zeros where there is none."""
    rewrites = list(dict.fromkeys(example.rewrite for example in examples if example.rewrite))
    vectors = torch.from_numpy(teacher.encode(rewrites, "query"))
    vector_of = dict(zip(rewrites, vectors, strict=True))
    none = torch.zeros(teacher.dimension)
    return [vector_of.get(example.rewrite, none) for example in examples]


def score(
    student: QueryEncoder,
    teacher: TextEncoder,
    examples: Sequence[SearchExample],
    passages: Passages,
) -> dict[str, float]:
    """Return MRR@10 of the student's vectors, of the question's own, and of the rewrite's where there is one."""
    matrix = passages.matrix.numpy()
    asked = [example for example in examples if passages.rows(example)]
    vectors: Mapping[str, Any] = {
        "MRR@10": student.encode([(example.question, example.history) for example in asked]),
        "question MRR@10": teacher.encode([example.question for example in asked], "query"),
        "rewrite MRR@10": teacher.encode([example.rewrite or example.question for example in asked], "query"),
    }
    scores: dict[str, float] = {"turns": len(asked)}
    for name, rows in vectors.items():
        ranks = []
        for example, vector in zip(asked, rows, strict=True):
            members = passages.members(example.collection).numpy()
            order = members[np.argsort(-(matrix[members] @ vector), kind="stable")][:10]
            ranks.append(next((1 / (rank + 1) for rank, row in enumerate(order) if row in passages.rows(example)), 0.0))
        scores[name] = float(np.mean(ranks)) if ranks else 0.0
    return scores
