"""The resolver's network: a trunk that reads question and history together, and small heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from convqa.models.kinds.resolver_input import Layout
from convqa.models.types import OUTPUTS
from convqa.training.data.edits import Edits, known_pattern
from convqa.training.loop import mask_of, padded


class ResolverNet(nn.Module):  # type: ignore[misc, unused-ignore]
    """Token ids -> (terms, deleted, patterns, starts, ends): see `Scores` of `convqa.models.kinds.resolver_output`."""

    inputs = ("input_ids", "attention_mask", "token_type_ids")
    outputs = OUTPUTS["resolver"]

    def __init__(self, trunk: Any, patterns: int, seed: int) -> None:
        """
        :param trunk: transformers' model. :param patterns: how many there are; beside them there is "none".
        :param seed: of the heads' first weights.
        """
        super().__init__()
        self.trunk = trunk
        # Its head for whole sequences would be trained by nothing.
        if getattr(trunk, "pooler", None) is not None:
            trunk.pooler = None
        width = trunk.config.hidden_size
        torch.manual_seed(seed)
        self.words = nn.Linear(width, 2)
        self.patterns = nn.Linear(width, patterns + 1)
        self.places = nn.Linear(width, 2 * width)
        self.spans = nn.Linear(width, 2 * width)
        self.scale = math.sqrt(width)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor) -> tuple[Tensor, ...]:
        """Each (batch, length); the results with the batch as first axis."""
        states = self.trunk(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
        terms, deleted = self.words(states).unbind(-1)
        from_start, from_end = self.places(states).chunk(2, -1)
        to_start, to_end = self.spans(states).chunk(2, -1)
        starts = from_start @ to_start.transpose(1, 2) / self.scale
        ends = from_end @ to_end.transpose(1, 2) / self.scale
        return terms, deleted, self.patterns(states), starts, ends


class Target(NamedTuple):
    """What a sequence should be scored, by token: pairs of (token, label) and of (place, tokens to point to)."""

    terms: list[tuple[int, bool]]
    deleted: list[tuple[int, bool]]
    patterns: list[tuple[int, int]]
    pointers: list[tuple[int, list[int], list[int]]]
    keys: list[int]


def target(layout: Layout, edits: Edits, patterns: Sequence[str]) -> Target:
    """The labels of a sequence; a phrase that came from nowhere is left out."""
    question, history = layout.question_words, layout.history_words
    places = [word.first for word in question] + [layout.end]
    wanted = [0] * len(places)
    pointers = []
    for insertion in edits.insertions:
        pattern = known_pattern(insertion.pattern, patterns)
        if pattern is None:
            continue
        wanted[insertion.position] = patterns.index(pattern) + 1
        if insertion.places:
            starts = [history[first].first for first, _ in insertion.places]
            ends = [history[last].last for _, last in insertion.places]
            pointers.append((places[insertion.position], starts, ends))
    return Target(
        [(word.first, label) for word, label in zip(history, edits.terms, strict=True)],
        [(word.first, label) for word, label in zip(question, edits.deleted, strict=True)],
        list(zip(places, wanted, strict=True)),
        pointers,
        sorted({token for word in history for token in (word.first, word.last)}),
    )


def loss(outputs: tuple[Tensor, ...], targets: Sequence[Target]) -> Tensor:
    """The sum of the heads' cross-entropies, per sequence. A pointer may point to any place with the right words."""
    terms, deleted, patterns, starts, ends = outputs
    total = _binary(terms, [one.terms for one in targets]) + _binary(deleted, [one.deleted for one in targets])
    row, token, label = _columns([one.patterns for one in targets], patterns)
    total = total + functional.cross_entropy(patterns[row, token], label, reduction="sum")
    for index, one in enumerate(targets):
        keys = torch.tensor(one.keys, device=starts.device)
        for place, first, last in one.pointers:
            total = total + _pointing(starts[index, place], keys, first) + _pointing(ends[index, place], keys, last)
    return total / len(targets)


def _binary(logits: Tensor, labels: Sequence[list[tuple[int, bool]]]) -> Tensor:
    row, token, label = _columns(labels, logits)
    return functional.binary_cross_entropy_with_logits(logits[row, token], label.float(), reduction="sum")


def _pointing(logits: Tensor, keys: Tensor, right: list[int]) -> Tensor:
    chosen = torch.tensor(right, device=logits.device)
    return torch.logsumexp(logits[keys], 0) - torch.logsumexp(logits[chosen], 0)


def _columns(labels: Sequence[Sequence[tuple[int, int]]], like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Row, token and label of every labelled token of a batch."""
    found = [(row, token, int(label)) for row, pairs in enumerate(labels) for token, label in pairs]
    row, token, label = torch.tensor(found, dtype=torch.long, device=like.device).reshape(-1, 3).unbind(1)
    return row, token, label


def batch(layouts: Sequence[Layout], device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, mask and types, padded to the longest."""
    ids, types = [layout.ids for layout in layouts], [layout.types for layout in layouts]
    return padded(ids, 0, device), mask_of(ids, device), padded(types, 0, device)
