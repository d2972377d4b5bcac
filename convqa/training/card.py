"""Model cards: data, licence, command, settings and scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

import convqa
from convqa.training.config import INSCIT, OWN, SHARC_SEEN, Settings
from convqa.training.data.reading import NEW_WIKI, REDDIT, SQUAD2
from convqa.training.data.rewrites import CANARD, QRECC_4K, QRECC_DEV

TALKS = "talks"
"""The resolver setting that adds synthetic conversations."""

_DATA = {
    QRECC_DEV: "QReCC (Anantha et al. 2021; CC BY-SA 3.0), turns of the dev part, every other conversation",
    QRECC_4K: "QReCC (CC BY-SA 3.0), 4,000 turns of the training part",
    CANARD: "CANARD (Elgohary et al. 2019; CC BY-SA 4.0), training part",
    SQUAD2: "SQuAD 2 (Rajpurkar et al. 2018; CC BY-SA 4.0), every other article of half of the dev part",
    NEW_WIKI: "SQuADShifts, New Wikipedia (Miller et al. 2020; CC BY 4.0), most articles",
    REDDIT: "SQuADShifts, Reddit (Miller et al. 2020; CC BY 4.0), most posts",
    INSCIT: "INSCIT (Wu et al. 2023; no licence stated), direct answers of the dev part, conversations of even number",
    SHARC_SEEN: "ShARC (Saeidi et al. 2018; CC BY-SA 3.0), the 500 utterances of its training part that OR-ShARC's dev "
    "file has (Gao et al. 2021)",
    TALKS: "leads of Wikipedia (CC BY-SA 4.0); for answers also contexts of SQuAD 2 and SQuADShifts, and passages of "
    "the conversations of even number of INSCIT and MTRAG (Katsis et al. 2025; Apache-2.0)",
    OWN: "the user's own examples",
}


def card(title: str, settings: Settings, scores: Sequence[str], use: str, licence: str = "") -> str:
    """Return the card as Markdown.

    :param licence: the licence of the base model.
    """
    names = settings.sets() | ({TALKS} if getattr(settings, TALKS, None) else set())
    dumped = settings.model_dump(mode="json", exclude={"data"}) | {"base": name_of(settings.base)}
    return "\n".join(
        [
            f"# {title}\n\n{use}\n",
            f"Trained by `convqa train {settings.recipe}` of convqa {convqa.__version__}, from {dumped['base']}.\n",
            f"Licence: {licence or 'as the base'}; the training data have licences of their own.\n",
            "## Data\n",
            *(f"- {text}" for name, text in _DATA.items() if name in names),
            "\nExamples that share a conversation or a distinctive text with the validation and report sets were "
            "left out (docs/reference/training.md).\n",
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
