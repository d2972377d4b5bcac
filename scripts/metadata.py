"""The package's page on the index: README with absolute links, and the project's addresses.

Hatchling calls this when it builds the package. ``CONVQA_REPOSITORY`` is the repository's address, such as
https://example.org/team/convqa; ``make release`` requires it. Without it, as in a checkout, README stays as it is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "CONVQA_REPOSITORY"
_RELATIVE = re.compile(r"\]\((?!https?://|#)")
_PAGES = {
    "Homepage": "",
    "Documentation": "/blob/main/docs/README.md",
    "Changelog": "/blob/main/CHANGELOG.md",
    "Issues": "/issues",
}


def absolute(text: str, repository: str) -> str:
    """Make relative links of a Markdown text absolute.

    >>> absolute("[a](docs/a.md#b) and [c](https://example.org)", "https://here.example/convqa")
    '[a](https://here.example/convqa/blob/main/docs/a.md#b) and [c](https://example.org)'
    """
    return _RELATIVE.sub(f"]({repository}/blob/main/", text)


class PackagePage(MetadataHookInterface):
    """Sets the readme, and the addresses if the repository's is known."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        repository = os.environ.get(VARIABLE, "").rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        if repository:
            text = absolute(text, repository)
            metadata["urls"] = {name: repository + path for name, path in _PAGES.items()}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
