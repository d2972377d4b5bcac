"""What a manifest counts, while it changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.stores.content import checksum
from convqa.stores.embedded.manifest import FieldTotals, Manifest


@dataclass(slots=True)
class Totals:
    """Passages and tokens by field, and the checksum: the sum of the passages' digests, so that no order counts."""

    fields: dict[str, FieldTotals]
    checksum: int

    @classmethod
    def of(cls, manifest: Manifest) -> Totals:
        return cls(dict(manifest.totals), int(manifest.checksum, 16))

    def add(self, lengths: NDArray[Any], sign: int = 1) -> None:
        """Count passages in (or out, with sign -1). ``lengths``: shape (passages, 2), tokens of text and of title."""
        columns = {"text": lengths[:, 0], "title": lengths[:, 1], "all": lengths.sum(axis=1)}
        for name, column in columns.items():
            old = self.fields[name]
            passages, tokens = int(np.count_nonzero(column)), int(column.sum())
            self.fields[name] = FieldTotals(old.passages + sign * passages, old.tokens + sign * tokens)

    def manifest(self, base: Manifest, generation: int, numbers: int, count: int, files: dict[str, int]) -> Manifest:
        """The next manifest after ``base``."""
        return replace(
            base,
            generation=generation,
            numbers=numbers,
            count=count,
            checksum=checksum(self.checksum),
            totals=dict(self.fields),
            files=files,
        )
