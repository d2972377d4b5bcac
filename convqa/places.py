"""Where the files that ship beside the code are: pipelines, configs and the bundled example."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def shipped(*parts: str) -> Path:
    """The path of a shipped file or folder, in a checkout or in an installed wheel.

    The wheel carries the checkout's ``pipelines``, ``configs`` and ``examples`` under ``convqa/share``.
    """
    share = _PACKAGE / "share"
    return (share if share.is_dir() else _PACKAGE.parent).joinpath(*parts)
