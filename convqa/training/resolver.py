"""The resolver: history terms and edits of the question, in one model on a small trunk.

What it learns of a turn: which words of the history stand in the human rewrite (QuReTeC: Voskarides et al., SIGIR
2020), and which edits lead from the question to the rewrite (:mod:`convqa.training.data.edits`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from convqa.errors import InputError
from convqa.metrics.rouge1 import rouge1
from convqa.models.engines.torch.networks import load_pooled
from convqa.models.export import write_model
from convqa.models.folder import ModelFolder, licence_of
from convqa.models.kinds.resolver import KIND, LEAST_TOKENS, PATTERNS, Resolver, load_resolver
from convqa.models.kinds.resolver_input import MOST_TOKENS, Layout, lay_out
from convqa.models.tokens import Tokenizer
from convqa.models.types import Choice
from convqa.training.base import trainable
from convqa.training.card import card, name_of
from convqa.training.config import ResolverSettings
from convqa.training.data.edits import Edits, find_edits
from convqa.training.data.rewrites import Example
from convqa.training.data.split import silenced
from convqa.training.loop import fit as learn
from convqa.training.resolver_net import ResolverNet, Target, batch, loss, target
from convqa.training.train import Bench, Scores, gather, mixed, plan_of, summary

_USE = """Reads a question with its history and says which words of the history it needs, and how the question reads
when they are put in (`convqa.components.rewriters.terms` and `edit`). English."""


@dataclass(frozen=True, slots=True)
class Work:
    """``layouts[i]`` is to be scored as ``targets[i]`` says; ``most``: tokens of a sequence; ``checks``: sets that are
    validated on."""

    settings: ResolverSettings
    bench: Bench
    base: ModelFolder
    net: ResolverNet
    tokenizer: Tokenizer
    most: int
    patterns: list[str]
    layouts: list[Layout]
    targets: list[Target]
    checks: Mapping[str, Sequence[Example]]


def setup(settings: ResolverSettings, bench: Bench) -> Work:
    """Sequences, their labels, the patterns that occur in enough conversations, and the untrained net."""
    found = gather(settings, bench.data)
    base = trainable(settings.base)
    pooled, tokenizer, _ = load_pooled(base, Choice("torch", bench.device, "float32"))  # type: ignore[arg-type]
    tokenizer.inner.no_truncation()
    most = _most_tokens(base, pooled.trunk.config, tokenizer)
    examples = silenced(mixed(settings, found), settings.silent, settings.seed)
    layouts = [lay_out(one.question, one.history, tokenizer.inner, most) for one in examples]
    edits = [find_edits(layout, one.rewrite) for layout, one in zip(layouts, examples, strict=True)]
    patterns = _patterns(examples, edits, settings.pattern)
    targets = [target(layout, found, patterns) for layout, found in zip(layouts, edits, strict=True)]
    net = ResolverNet(pooled.trunk, len(patterns), settings.seed).to(bench.device)
    checks = {"validation": found.validation, **found.reported}
    return Work(settings, bench, base, net, tokenizer, most, patterns, layouts, targets, checks)


def fit(work: Work) -> None:
    """Lower the sum of the heads' cross-entropies."""

    def of(places: Sequence[int]) -> Tensor:
        inputs = batch([work.layouts[place] for place in places], work.bench.device)
        return loss(work.net(*inputs), [work.targets[place] for place in places])

    heads = [parameter for name, parameter in work.net.named_parameters() if not name.startswith("trunk.")]
    groups = [
        {"params": list(work.net.trunk.parameters()), "factor": 1.0},
        {"params": heads, "factor": work.settings.head},
    ]
    lengths = [len(layout.ids) for layout in work.layouts]
    learn(work.net, lengths, of, plan_of(work.settings), work.bench.folder, groups, work.bench.progress)


def validate(work: Work) -> Scores:
    """ROUGE-1 against the human rewrite, on the model as it is used: int8 on ONNX Runtime."""
    with tempfile.TemporaryDirectory(dir=work.bench.folder) as aside:
        made = Path(aside) / "model"
        _write(work, made, "")
        resolver = load_resolver(str(made))
        return {name: score(resolver, examples) for name, examples in work.checks.items()}


def export(work: Work, scores: Scores, target: Path) -> None:
    """Write the folder that ``load_resolver`` reads: int8 for ONNX Runtime, with a model card."""
    _write(work, target, card("A resolver", work.settings, summary(scores), _USE, licence_of(work.base.path)))


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


def _write(work: Work, folder: Path, text: str) -> None:
    about = {
        "kind": KIND, "name": folder.name, "precision": "int8", "max_tokens": work.most,
        "base": name_of(work.settings.base), "licence": licence_of(work.base.path),
        "settings": {PATTERNS: work.patterns},
    }  # fmt: skip
    write_model(folder, work.net, work.tokenizer, about, text)


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
