"""The recipe ``resolver``: history terms and edits of the question, in one model on a small trunk.

It learns which words of the history occur in the human rewrite (QuReTeC: Voskarides et al., SIGIR 2020), and the edits
from the question to the rewrite (:mod:`convqa.training.edits`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from convqa.errors import InputError
from convqa.metrics.rouge1 import rouge1
from convqa.models.engines.torch.networks import ResolverNet
from convqa.models.engines.torch.transformers import load_config, load_module, tokenizer_of
from convqa.models.folder import ModelFolder
from convqa.models.kinds.resolver import MIN_TOKENS, SLOT, Resolver, load_resolver
from convqa.models.kinds.resolver_input import MAX_TOKENS, TurnLayout, lay_out
from convqa.models.types import Tokenizer
from convqa.training.config import ResolverSettings
from convqa.training.edits import QuestionEdits, find_edits, known_pattern
from convqa.training.examples import REPORT, TRAIN, VALIDATION, RewriteExample, files, read, required_files
from convqa.training.loop import Bench, fit
from convqa.training.recipe import Recipe, Scores, trainable


class ResolverTraining(Recipe):
    """Sequences (``layouts``), their labels (``targets``), the insertion patterns, and the network.

    ``checks``: the sets to validate and report on.
    """

    settings: ResolverSettings
    use = """Predicts which words of the history a question needs, and rewrites the question with them
(`convqa.components.rewriters.edit`). English."""

    def __init__(self, settings: ResolverSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        self.checks = _examples(required_files(bench.data, VALIDATION))
        self.checks |= _examples(files(bench.data, REPORT))
        examples = []
        for part in _examples(required_files(bench.data, TRAIN)).values():
            examples += part
        settings.steps(len(examples))  # fails early, before the long work
        self.base = trainable(settings.base)
        config = load_config(self.base)
        self.tokenizer = tokenizer_of(self.base, MAX_TOKENS)
        self.tokenizer.inner.no_truncation()
        self.most = _max_tokens(self.base, config, self.tokenizer)
        self.layouts = []
        edits = []
        for example in examples:
            layout = lay_out(
                example.question,
                example.history,
                self.tokenizer.inner,
                self.most,
            )
            self.layouts.append(layout)
            edits.append(find_edits(layout, example.rewrite))
        self.patterns = _patterns(examples, edits, settings.pattern)
        pairs = zip(self.layouts, edits, strict=True)
        self.targets = [target(layout, edit, self.patterns) for layout, edit in pairs]
        trunk = load_module(self.base, "AutoModel", "cpu", "float32")
        net = ResolverNet(trunk, len(self.patterns), settings.seed)
        self.net = net.to(bench.device)

    def fit(self) -> None:
        """Minimize the sum of the heads' cross-entropies."""
        lengths = [len(layout.ids) for layout in self.layouts]
        fit(
            self.net,
            lengths,
            self._batch_loss,
            self.settings,
            self.bench,
            lambda name: not name.startswith("trunk."),
        )

    def _batch_loss(self, indices: Sequence[int]) -> Tensor:
        layouts = [self.layouts[index] for index in indices]
        ids = [layout.ids for layout in layouts]
        types = [layout.types for layout in layouts]
        outputs = self.outputs(ids, types)
        return loss(outputs, [self.targets[index] for index in indices])

    def validate(self, folder: Path) -> Scores:
        """Score by ROUGE-1 against the human rewrite."""
        resolver = load_resolver(str(folder))
        return {name: score(resolver, examples) for name, examples in self.checks.items()}

    def learned(self) -> dict[str, Any]:
        return {"patterns": self.patterns}


def _examples(paths: Mapping[str, Path]) -> dict[str, list[RewriteExample]]:
    return {label: read(path, RewriteExample) for label, path in paths.items()}


def score(resolver: Resolver, examples: Sequence[RewriteExample]) -> dict[str, float]:
    """Return mean ROUGE-1 recall and F1 of the edited questions, and of the unchanged questions (``copy``)."""
    resolutions = resolver.resolve([(example.question, example.history) for example in examples])
    recall, f1 = _mean_rouge(examples, [resolution.text() for resolution in resolutions])
    copy_recall, copy_f1 = _mean_rouge(examples, [example.question for example in examples])
    return {
        "turns": len(examples),
        "recall": recall,
        "F1": f1,
        "copy recall": copy_recall,
        "copy F1": copy_f1,
    }


def _mean_rouge(examples: Sequence[RewriteExample], texts: Sequence[str]) -> tuple[float, float]:
    pairs = zip(examples, texts, strict=True)
    scores = [rouge1(example.rewrite, text) for example, text in pairs]
    recall = sum(score.recall for score in scores) / len(scores)
    f1 = sum(score.f1 for score in scores) / len(scores)
    return recall, f1


def _max_tokens(base: ModelFolder, config: Any, tokenizer: Tokenizer) -> int:
    """Return the maximum tokens of a sequence.

    :raises InputError: for a base model without what the resolver needs.
    """
    positions: int = getattr(config, "max_position_embeddings", MAX_TOKENS)
    has_separators = {"[CLS]", "[SEP]"} <= tokenizer.inner.get_vocab().keys()
    if not has_separators or getattr(config, "type_vocab_size", 0) < 2 or positions < MIN_TOKENS:
        raise InputError(
            f"base: {base.name} ({config.model_type}): expected an encoder like BERT, such as "
            "sentence-transformers/all-MiniLM-L6-v2, with the tokens [CLS] and [SEP], token types and at least "
            f"{MIN_TOKENS} positions."
        )
    return min(MAX_TOKENS, positions)


def _patterns(
    examples: Sequence[RewriteExample],
    edits: Sequence[QuestionEdits],
    least: int,
) -> list[str]:
    """Return the patterns of enough conversations that are more than punctuation, the most frequent first."""
    seen = {(SLOT, "")}
    for example, edit in zip(examples, edits, strict=True):
        seen |= {(insertion.pattern, example.conversation) for insertion in edit.insertions}
    counts = Counter(pattern for pattern, _ in seen)
    patterns = [SLOT]
    for pattern, conversations in counts.items():
        has_words = SLOT in pattern or any(char.isalpha() for char in pattern)
        if pattern != SLOT and has_words and conversations >= least:
            patterns.append(pattern)
    return sorted(patterns, key=lambda pattern: (-counts[pattern], pattern))


class Pointer(NamedTuple):
    """The token before which a phrase is inserted, and the first and last tokens of its occurrences."""

    token: int
    starts: list[int]
    ends: list[int]


Labels = list[tuple[int, int]]
"""Tokens of a sequence with their labels."""


class ResolverTarget(NamedTuple):
    """The labels of a sequence. ``keys``: the tokens that can be pointed to."""

    terms: Labels
    deleted: Labels
    patterns: Labels
    pointers: list[Pointer]
    keys: list[int]
    needs: Labels


def target(
    layout: TurnLayout,
    edits: QuestionEdits,
    patterns: Sequence[str],
) -> ResolverTarget:
    """Return the labels of a sequence, without phrases from outside the history."""
    history = layout.history_words
    question = layout.question_words
    tokens = [word.first for word in question] + [layout.end]
    labels = [0] * len(tokens)
    pointers = []
    for insertion in edits.insertions:
        pattern = known_pattern(insertion.pattern, patterns)
        if pattern is None:
            continue
        labels[insertion.position] = patterns.index(pattern) + 1
        if insertion.occurrences:
            starts = [history[first].first for first, _ in insertion.occurrences]
            ends = [history[last].last for _, last in insertion.occurrences]
            pointers.append(Pointer(tokens[insertion.position], starts, ends))
    return ResolverTarget(
        terms=[(word.first, label) for word, label in zip(history, edits.terms, strict=True)],
        deleted=[(word.first, label) for word, label in zip(question, edits.deleted, strict=True)],
        patterns=list(zip(tokens, labels, strict=True)),
        pointers=pointers,
        keys=sorted({token for word in history for token in (word.first, word.last)}),
        needs=[(0, any(edits.deleted) or bool(edits.insertions))],
    )


def loss(outputs: tuple[Tensor, ...], targets: Sequence[ResolverTarget]) -> Tensor:
    """Return the sum of the heads' cross-entropies per sequence. A pointer may point to any occurrence of the words."""
    terms, deleted, patterns, starts, ends, needs = outputs
    total = _binary(terms, [target.terms for target in targets])
    total = total + _binary(deleted, [target.deleted for target in targets])
    total = total + _binary(needs, [target.needs for target in targets])
    row, token, label = _columns([target.patterns for target in targets], patterns)
    total = total + functional.cross_entropy(
        patterns[row, token],
        label,
        reduction="sum",
    )
    for index, target in enumerate(targets):
        keys = torch.tensor(target.keys, device=starts.device)
        for pointer in target.pointers:
            total = total + _pointing(
                starts[index, pointer.token],
                keys,
                pointer.starts,
            )
            total = total + _pointing(
                ends[index, pointer.token],
                keys,
                pointer.ends,
            )
    return total / len(targets)


def _binary(logits: Tensor, labels: Sequence[Labels]) -> Tensor:
    row, token, label = _columns(labels, logits)
    return functional.binary_cross_entropy_with_logits(
        logits[row, token],
        label.float(),
        reduction="sum",
    )


def _pointing(
    logits: Tensor,
    keys: Tensor,
    right: list[int],
) -> Tensor:
    chosen = torch.tensor(right, device=logits.device)
    all_keys = torch.logsumexp(logits[keys], 0)
    return all_keys - torch.logsumexp(logits[chosen], 0)


def _columns(labels: Sequence[Labels], like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return row, token and label of every labeled token of a batch."""
    rows = []
    for row, tokens in enumerate(labels):
        rows += [(row, token, int(label)) for token, label in tokens]
    columns = torch.tensor(
        rows,
        dtype=torch.long,
        device=like.device,
    ).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]
