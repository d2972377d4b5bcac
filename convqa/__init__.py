"""Conversational question answering over a collection of passages, with cited answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

# Read by Haystack on import; otherwise it writes into the home folder and sends telemetry.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
# Read by ONNX Runtime when it loads; otherwise it writes a device id into the cache folder and sends telemetry.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

__version__ = "0.2.0"

if TYPE_CHECKING:
    from convqa.domain import Passage
    from convqa.qa import QA, Talk, index, load

__all__ = ["QA", "Passage", "Talk", "__version__", "index", "load"]


def __getattr__(name: str) -> Any:
    """Load the Python API on first use, so that ``import convqa`` stays light."""
    if name in __all__:
        from convqa import domain, qa

        return getattr(domain if name == "Passage" else qa, name)
    raise AttributeError(f"module 'convqa' has no attribute {name!r}")
