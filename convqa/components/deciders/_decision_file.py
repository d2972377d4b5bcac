"""A decision: the weights of a logistic that says, from 0 to 1, whether the passages answer the question.

Its signals are in ``_answerability``. It is read from a YAML file; those that ship are in ``configs/decisions``, one
for each kind of reader. docs/answers.md says how they were fitted, and how often they are right.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from convqa.components.deciders._answerability import signals, support
from convqa.domain import Answer, Ranking, Reading, Rewrite, Turn
from convqa.errors import InputError, nearest
from convqa.files import read_yaml
from convqa.places import shipped
from convqa.validation import read_as

_SUFFIXES = (".yaml", ".yml")

Threshold = Annotated[float, Field(ge=0, le=1)]
"""Of the score: below it nothing is said. 0 always answers."""

Number = Annotated[float, Field(allow_inf_nan=False)]


class Weight(BaseModel):
    """What a signal counts: ``weight`` for each ``deviation`` that it is above its ``mean``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    mean: Number
    deviation: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    weight: Number


class Decision(BaseModel):
    """A file of ``configs/decisions``.

    ``fitted`` says how it came about, for its readers; nothing reads it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    intercept: Number
    signals: dict[Literal["null", "best", "lead", "gap", "found", "near"], Weight]
    threshold: Threshold
    fitted: dict[str, Any] = Field(default_factory=dict)

    @property
    def identity(self) -> str:
        """A digest of all that shapes the score."""
        shape = self.model_dump_json(exclude={"fitted"})
        return f"sha256:{hashlib.sha256(shape.encode()).hexdigest()}"

    def likelihood(self, found: Mapping[str, float | None]) -> float:
        """The logistic of the signals; one that is missing counts as its mean.

        >>> decision = Decision(intercept=0.0, signals={"null": Weight(mean=0.5, deviation=0.5, weight=-1.0)},
        ...                     threshold=0.5)
        >>> decision.likelihood({"null": None}), round(decision.likelihood({"null": 1.0}), 3)
        (0.5, 0.269)
        """
        logit = self.intercept
        for name, one in self.signals.items():
            value = found.get(name)
            if value is not None:
                logit += one.weight * (value - one.mean) / one.deviation
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))

    def score(self, turn: Turn, rewrite: Rewrite, ranking: Ranking, reading: Reading | None, answer: Answer) -> float:
        """How likely it is that the passages answer the question, and as the answer says.

        0 where nothing was found. An answer that its own quotes do not support loses what it lacks of that; one that
        quotes word for word loses nothing.
        """
        if not ranking.hits:
            return 0.0
        likely = self.likelihood(signals(turn, rewrite, ranking, reading))
        return likely * support(answer, ranking, turn.language) if answer.kind == "answer" else likely


def load_decision(name: str) -> Decision:
    """A decision by its shipped name or the path of a YAML file.

    :raises InputError: if there is none of this name, or it is not as it should be.
    """
    return _read(str(_find(name)))


def shipped_decisions() -> list[str]:
    """The names of the files in ``configs/decisions``."""
    return sorted(path.stem for path in shipped("configs", "decisions").glob("*.yaml"))


def _find(name: str) -> Path:
    if name.endswith(_SUFFIXES):
        return Path(name)
    known = shipped_decisions()
    if name not in known:
        raise InputError(
            f"decision: {name!r} is not known.{nearest(name, known)} Shipped: {', '.join(known) or 'none'}; or name "
            "a YAML file."
        )
    return shipped("configs", "decisions", f"{name}.yaml")


@lru_cache(maxsize=32)
def _read(path: str) -> Decision:
    advice = "See docs/answers.md and the files of configs/decisions."
    return read_as(Decision, read_yaml(Path(path), "decision"), f"decision {path}", advice)
