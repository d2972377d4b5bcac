"""A user's settings for an index that convqa makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from convqa.errors import InputError
from convqa.stores.address import redact
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
