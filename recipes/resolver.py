"""Human rewrites and talks, to train and evaluate the resolver.

    python -m recipes.resolver DATA EXAMPLES [--settings FILE]

FILE is recipes/resolver.yaml if not named; recipes/rewrites.py has the split, recipes/talks.py the talks.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field

from convqa.errors import InputError
from convqa.models.kinds.resolver_input import Past
from convqa.safe_yaml import read_yaml
from convqa.training.config import Share
from convqa.training.examples import RewriteExample, read
from convqa.validation import Record, read_as
from recipes.files import GUARD, Files, main
from recipes.rewrites import CANARD, QRECC_4K, QRECC_DEV, split, without_overlap
from recipes.talks import TalkShares, read_leads, read_passages, talks

OWN = "own"

_SOURCES = {
    QRECC_DEV: "QReCC (Anantha et al. 2021; CC BY-SA 3.0), turns of the dev part, every other conversation",
    QRECC_4K: "QReCC (CC BY-SA 3.0), 4,000 turns of the training part",
    CANARD: "CANARD (Elgohary et al. 2019; CC BY-SA 4.0), training part",
    OWN: "the user's own examples",
}
_TALKS = (
    "leads of Wikipedia (CC BY-SA 4.0); for answers also contexts of SQuAD 2 and SQuADShifts, and passages of the "
    "conversations of even number of INSCIT and MTRAG (Katsis et al. 2025; Apache-2.0)"
)


class Part(Record, extra="forbid"):
    """Sets of examples, repeated ``times`` times."""

    sets: list[Literal["qrecc-dev", "qrecc-4k", "canard", "own"]] = Field(min_length=1)
    times: int = Field(1, ge=1)


class Settings(Record, extra="forbid"):
    """The file ``recipes/resolver.yaml``, which explains each field."""

    seed: int = Field(1, ge=0)
    mix: list[Part] = Field(min_length=1)
    own: list[str] = []
    silent: Share = 0.2
    talks: TalkShares | None = None


def load(path: Path | None = None) -> Settings:
    """Load the settings of a file, None for ``recipes/resolver.yaml``."""
    path = path or Path(__file__).with_suffix(".yaml")
    return read_as(Settings, read_yaml(path, "settings"), str(path), f"Fields: {', '.join(Settings.model_fields)}.")


def make(data: Path, settings: Settings) -> tuple[Files, str]:
    """Return the files of the examples, and their sources."""
    parts = split(data)
    sets = dict(parts.training)
    measured = [example for examples in parts.measured.values() for example in examples]
    sets[OWN] = without_overlap((one for name in settings.own for one in read(data / name, RewriteExample)), measured)
    names = [name for part in settings.mix for _ in range(part.times) for name in part.sets]
    if not all(sets[name] for name in names):
        raise InputError(
            "own: expected files with examples that share no distinctive text with the validation and report sets; "
            "none is left. See docs/reference/training.md."
        )
    examples = silenced((one for name in names for one in sets[name]), settings.silent, settings.seed)
    if settings.talks is not None:
        examples = talks(examples, read_leads(data), read_passages(data), settings.seed, settings.talks)
    file_names = {"validation": "validation", "qrecc-report": "report-qrecc", "canard-report": "report-canard"}
    files = {"train.jsonl": examples, **{f"{name}.jsonl": parts.measured[key] for key, name in file_names.items()}}
    texts = [_SOURCES[name] for name in dict.fromkeys(names)] + ([_TALKS] if settings.talks else [])
    made = f"```yaml\n{yaml.safe_dump(settings.model_dump(), sort_keys=False)}```"
    sources = "".join(f"- {text}\n" for text in texts) + f"{GUARD}\n\nMade by `python -m recipes.resolver`:\n\n{made}"
    return files, sources


def silenced(examples: Iterable[RewriteExample], share: float, seed: int) -> list[RewriteExample]:
    """Remove the history's answers from a share of the examples, because answers may be missing in use."""
    chance = random.Random(seed)

    def silent(example: RewriteExample) -> RewriteExample:
        return example.model_copy(update={"history": [Past(past.question) for past in example.history]})

    return [silent(example) if chance.random() < share else example for example in examples]


if __name__ == "__main__":
    main(__doc__, lambda arguments: make(arguments.data, load(arguments.settings)), settings={"type": Path})
