"""A user's options for an index: settings of one that convqa makes, and parameters of a search."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from convqa.errors import InputError
from convqa.stores.address import redact
from convqa.stores.base import Info, SearchParams, refuse_unknown
from convqa.stores.elasticsearch.loading import THREADS
from convqa.validation import read_as


class Changes(BaseModel, strict=True, extra="forbid", frozen=True):
    """Of an index that is there."""

    replicas: int = Field(0, ge=0, le=100)
    k1: float = Field(0.82, ge=0, allow_inf_nan=False)
    b: float = Field(0.68, ge=0, le=1)


class Options(Changes, frozen=True):
    """Of a new index. ``replicas`` are made when it is whole; ``threads`` send while it is filled."""

    shards: int = Field(1, ge=1, le=1024)
    threads: int = Field(THREADS, ge=1, le=16)

    @classmethod
    def of(cls, url: str, settings: Mapping[str, object] | None) -> Options:
        """:raises InputError: naming the setting."""
        advice = f"The settings of an Elasticsearch index are {', '.join(cls.model_fields)}."
        return read_as(cls, dict(settings or {}), f"collection {redact(url)}: settings", advice)


def changes(url: str, settings: Mapping[str, object]) -> dict[str, Any]:
    """Settings of an index that is there, as they are to be; none at all are refused."""
    advice = "An index that is there can get another k1, b or replicas; for other shards index again with --replace."
    given = read_as(Changes, dict(settings), f"collection {redact(url)}: settings", advice)
    if not settings:
        raise InputError(f"collection {redact(url)}: nothing is to be changed. {advice}")
    return given.model_dump(exclude_unset=True)


def refuse(params: SearchParams, info: Info, place: str, changeable: bool = False) -> None:
    """Raise for the first parameter that is asked for and that an index cannot honour.

    :param changeable: whether its k1 and b are convqa's to change.
    :raises InputError: for k1 or b, which every pipeline gives, it says how to search with those of the index.
    """
    for name, value, fixed in (("k1", params.k1, info.k1), ("b", params.b, info.b)):
        if value is None or (fixed is not None and math.isclose(value, fixed, rel_tol=1e-6)):
            continue
        made = f"was made with k1={info.k1!r} and b={info.b!r}" if fixed is not None else "is not scored by BM25"
        other = ", or change the index: convqa collections set URL --k1 K1 --b B --yes" if changeable else ""
        raise InputError(
            f"{place} {made} and cannot search with {name}={value!r}. Search with its own scoring: "
            f"--set retriever.k1=null --set retriever.b=null{other}."
        )
    refuse_unknown(params, info, place)
