"""Where files are: those that ship beside the code (pipelines, configs, the bundled example), and the cache."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def shipped(*parts: str) -> Path:
    """The path of a shipped file or folder, in a checkout or in an installed wheel.

    The wheel carries the checkout's ``pipelines``, ``configs`` and ``examples`` under ``convqa/share``.
    """
    share = _PACKAGE / "share"
    return (share if share.is_dir() else _PACKAGE.parent).joinpath(*parts)


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/convqa``, else ``~/.cache/convqa``."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "convqa"
