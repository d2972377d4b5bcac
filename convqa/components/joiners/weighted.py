"""Fuses weighted rankings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from convqa.components.base import Joiner
from convqa.components.members import member
from convqa.components.rankings import FUSIONS
from convqa.domain import Ranking
from convqa.errors import InputError


def _sockets(names: list[str]) -> list[str]:
    if wrong := [name for name in names if not name.isidentifier()]:
        raise ValueError(f"expected socket names of letters, digits and _, such as 'sparse', not {wrong[0]!r}")
    if len(set(names)) < len(names):
        raise ValueError("expected distinct names")
    return names


@member
class Weighted(Joiner):
    """Fuse weighted rankings.

    :param inputs: names of the ranking sockets, at least two, as in ``[sparse, dense]``.
    :param fusion: ``rrf``: score = sum over the inputs of weight / (60 + rank) (Cormack, Clarke and Buettcher, SIGIR
        2009); ``interpolation``: sum of weight x score, with the scores of each input normalized to 0 to 1.
    :param weights: input -> weight; the default is 1.
    :param top_k: passages in a ranking.
    :param texts: how many of the first hits have their passages; missing ones are fetched.
    """

    inputs: Annotated[list[str], Field(min_length=2), AfterValidator(_sockets)]
    fusion: Literal["rrf", "interpolation"] = "rrf"
    weights: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None = None
    top_k: Annotated[int, Field(ge=1)] = 100
    texts: Annotated[int, Field(ge=0)] = 20
    collection: str | None = None

    def __post_init__(self) -> None:
        if unknown := ", ".join(map(repr, sorted(set(self.weights or {}) - set(self.inputs)))):
            raise InputError(f"weights: unknown inputs {unknown}; expected some of {self.inputs}.")
        self._declare(self.inputs)

    def join(self, rankings: Mapping[str, Ranking]) -> Ranking:
        weights = self.weights or {}
        fused = FUSIONS[self.fusion]([(weights.get(name, 1.0), rankings[name]) for name in self.inputs], self.top_k)
        return self.attached([fused], self.texts)[0]
