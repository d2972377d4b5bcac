"""Settings of an index that convqa makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from convqa.errors import InputError
from convqa.stores.address import redact
from convqa.stores.elasticsearch.loading import THREADS
from convqa.validation import read_as


class Changes(BaseModel, strict=True, extra="forbid", frozen=True):
    replicas: int = Field(0, ge=0, le=100)
    k1: float = Field(0.82, ge=0, allow_inf_nan=False)
    b: float = Field(0.68, ge=0, le=1)


class IndexSettings(Changes, frozen=True):
    """Settings of a new index. Replicas are added when it is complete; ``threads`` send passages."""

    shards: int = Field(1, ge=1, le=1024)
    threads: int = Field(THREADS, ge=1, le=16)

    @classmethod
    def of(cls, url: str, settings: Mapping[str, object] | None) -> IndexSettings:
        advice = f"The settings of an Elasticsearch index are {', '.join(cls.model_fields)}."
        return read_as(cls, dict(settings or {}), f"collection {redact(url)}: settings", advice)


def changes(url: str, settings: Mapping[str, object]) -> dict[str, Any]:
    advice = "An existing index can change k1, b and replicas; for other shards index again with --replace."
    given = read_as(Changes, dict(settings), f"collection {redact(url)}: settings", advice)
    if not settings:
        raise InputError(f"collection {redact(url)}: no setting to change. {advice}")
    return given.model_dump(exclude_unset=True)
