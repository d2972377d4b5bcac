"""Model cards: data, licence, command, settings and scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

import convqa
from convqa.training.config import Settings


def card(title: str, settings: Settings, scores: Sequence[str], use: str, sources: str, licence: str = "") -> str:
    """Return the card as Markdown.

    :param sources: what the examples were made of, as Markdown. :param licence: the licence of the base model.
    """
    dumped = settings.model_dump(mode="json") | {"base": name_of(settings.base)}
    return "\n".join(
        [
            f"# {title}\n\n{use}\n",
            f"Trained by `convqa train {settings.recipe}` of convqa {convqa.__version__}, from {dumped['base']}.\n",
            f"Licence: {licence or 'as the base'}; the training data have licences of their own.\n",
            f"## Data\n\n{sources}\n",
            "## Scores\n",
            *(f"- {line}" for line in scores),
            f"\n## Settings\n\n```yaml\n{yaml.safe_dump(dumped, sort_keys=False)}```\n",
        ]
    )


def name_of(base: str) -> str:
    """Return a model's name for publication, without the path of a folder.

    >>> name_of("sentence-transformers/all-MiniLM-L6-v2"), name_of("./models/all-MiniLM-L6-v2")
    ('sentence-transformers/all-MiniLM-L6-v2', 'all-MiniLM-L6-v2')
    """
    path = Path(base).expanduser()
    return path.name if path.is_dir() or base.startswith((".", "/", "~")) else base
