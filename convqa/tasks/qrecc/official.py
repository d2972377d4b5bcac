"""evaluation.prototext, as the official script writes it."""

from __future__ import annotations

from collections.abc import Mapping

FILE = "evaluation.prototext"


def text(means: Mapping[str, float]) -> str:
    """One block a measure, three decimals, no newline at the end.

    >>> print(text({"QR": 0.5333}))
    measure{
      key: "QR"
      value: "0.533"
    }
    """
    return "\n".join(f'measure{{\n  key: "{name}"\n  value: "{mean:.3f}"\n}}' for name, mean in means.items())
