"""evaluation.prototext, in the format of the official script."""

from __future__ import annotations

from collections.abc import Mapping

FILE = "evaluation.prototext"


def text(means: Mapping[str, float]) -> str:
    """Format one block per measure, with three decimals and no final newline.

    >>> print(text({"QR": 0.5333}))
    measure{
      key: "QR"
      value: "0.533"
    }
    """
    return "\n".join(f'measure{{\n  key: "{name}"\n  value: "{mean:.3f}"\n}}' for name, mean in means.items())
