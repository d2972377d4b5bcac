"""Rows of different lengths as one tensor."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def padded(rows: Sequence[Sequence[int]], fill: int, device: str) -> Tensor:
    """(n, longest), each row followed by ``fill``."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows], dtype=torch.long, device=device)
