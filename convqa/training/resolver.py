"""The resolver: history terms and edits of the question, in one model on a small trunk.

What it learns of a turn: which words of the history stand in the human rewrite (QuReTeC: Voskarides et al., SIGIR
2020), and which edits lead from the question to the rewrite (:mod:`convqa.training.data.edits`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from convqa.errors import InputError
from convqa.metrics.rouge1 import rouge1
from convqa.models.engines.torch.networks import load_pooled
from convqa.models.export import write_model
from convqa.models.folder import ModelFolder, licence_of
from convqa.models.kinds.resolver import LEAST_TOKENS, PATTERNS, Resolver, load_resolver
from convqa.models.kinds.resolver_input import MOST_TOKENS, lay_out
from convqa.models.tokens import Tokenizer
from convqa.models.types import Choice
from convqa.training.card import card, name_of
from convqa.training.config import ResolverSettings
from convqa.training.data.edits import Edits, find_edits
from convqa.training.data.rewrites import Example
from convqa.training.data.split import gather
from convqa.training.loop import fit
from convqa.training.resolver_net import ResolverNet, batch, loss, target
from convqa.training.train import Bench, Recipe, Scores, summary, trainable

_USE = """Reads a question with its history and says which words of the history it needs, and how the question reads
when they are put in (`convqa.components.rewriters.terms` and `edit`). English."""


class Training(Recipe):
    """Sequences, their labels, the patterns that occur in enough conversations, and the net.

    ``layouts[i]`` is to be scored as ``targets[i]`` says; ``checks``: sets that are validated on.
    """

    settings: ResolverSettings

    def __init__(self, settings: ResolverSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        examples, self.checks = gather(settings, bench.data)
        self.base = trainable(settings.base)
        pooled, self.tokenizer, _ = load_pooled(self.base, Choice("torch", bench.device, "float32"))  # type: ignore[arg-type]
        self.tokenizer.inner.no_truncation()
        self.most = _most_tokens(self.base, pooled.trunk.config, self.tokenizer)
        self.layouts = [lay_out(one.question, one.history, self.tokenizer.inner, self.most) for one in examples]
        edits = [find_edits(layout, one.rewrite) for layout, one in zip(self.layouts, examples, strict=True)]
        self.patterns = _patterns(examples, edits, settings.pattern)
        self.targets = [target(layout, made, self.patterns) for layout, made in zip(self.layouts, edits, strict=True)]
        self.net = ResolverNet(pooled.trunk, len(self.patterns), settings.seed).to(bench.device)

    def fit(self) -> None:
        """Lower the sum of the heads' cross-entropies."""

        def of(places: Sequence[int]) -> Tensor:
            inputs = batch([self.layouts[place] for place in places], self.bench.device)
            return loss(self.net(*inputs), [self.targets[place] for place in places])

        lengths = [len(layout.ids) for layout in self.layouts]
        fit(self.net, lengths, of, self.settings, self.bench, lambda name: not name.startswith("trunk."))

    def validate(self) -> Scores:
        """ROUGE-1 against the human rewrite, on the model as it is used: int8 on ONNX Runtime."""
        with tempfile.TemporaryDirectory(dir=self.bench.folder) as aside:
            made = Path(aside) / "model"
            self._write(made, "")
            resolver = load_resolver(str(made))
            return {name: score(resolver, examples) for name, examples in self.checks.items()}

    def export(self, scores: Scores, target: Path) -> None:
        """Write the folder that ``load_resolver`` reads: int8 for ONNX Runtime, with a model card."""
        self._write(target, card("A resolver", self.settings, summary(scores), _USE, licence_of(self.base.path)))

    def _write(self, folder: Path, text: str) -> None:
        about = {
            "kind": "resolver", "name": folder.name, "precision": "int8", "max_tokens": self.most,
            "base": name_of(self.settings.base), "licence": licence_of(self.base.path),
            "settings": {PATTERNS: self.patterns},
        }  # fmt: skip
        write_model(folder, self.net, self.tokenizer, about, text)


def score(resolver: Resolver, examples: Sequence[Example], sure: float = 0.4) -> dict[str, float]:
    """Mean ROUGE-1 recall and F1 of the edited questions, and of the questions as they were."""
    made = resolver.resolve([(example.question, example.history) for example in examples])
    edits = [rouge1(one.rewrite, found.text(sure)) for one, found in zip(examples, made, strict=True)]
    copies = [rouge1(one.rewrite, one.question) for one in examples]
    return {
        "turns": len(examples),
        "recall": sum(one.recall for one in edits) / len(edits),
        "F1": sum(one.f1 for one in edits) / len(edits),
        "copy recall": sum(one.recall for one in copies) / len(copies),
        "copy F1": sum(one.f1 for one in copies) / len(copies),
    }


def _most_tokens(base: ModelFolder, config: Any, tokenizer: Tokenizer) -> int:
    """How long a sequence may be.

    :raises InputError: if the base cannot read question and history as the resolver lays them out.
    """
    lacks = [f"the token {token}" for token in ("[CLS]", "[SEP]") if tokenizer.inner.token_to_id(token) is None]
    if getattr(config, "type_vocab_size", 0) < 2:
        lacks.append("token types that tell the question from its history")
    positions = getattr(config, "max_position_embeddings", MOST_TOKENS)
    if positions < LEAST_TOKENS:
        lacks.append(f"room for {LEAST_TOKENS} tokens (it has {positions} positions)")
    if lacks:
        raise InputError(
            f"base: {base.name} ({config.model_type}) lacks {', '.join(lacks)}; wanted an encoder of BERT's kind, such "
            "as sentence-transformers/all-MiniLM-L6-v2."
        )
    return min(MOST_TOKENS, positions)


def _patterns(examples: Sequence[Example], edits: Sequence[Edits], least: int) -> list[str]:
    """Those that occur in enough conversations and are more than signs, the most widespread first."""
    spread: dict[str, set[str]] = {"{}": set()}
    for example, found in zip(examples, edits, strict=True):
        for insertion in found.insertions:
            spread.setdefault(insertion.pattern, set()).add(example.conversation)
    kept = [
        pattern
        for pattern, conversations in spread.items()
        if pattern == "{}" or (len(conversations) >= least and any(sign.isalpha() or sign == "{" for sign in pattern))
    ]
    return sorted(kept, key=lambda pattern: (-len(spread[pattern]), pattern))
