"""Settings of an index that convqa makes, as a user gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from convqa.errors import InputError, nearest
from convqa.stores.elasticsearch.loading import THREADS
from convqa.stores.url import redact
from convqa.validation import explain


class Options(BaseModel):
    """Of a new index. ``replicas`` are made when it is whole; ``threads`` send while it is filled."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    shards: int = Field(1, ge=1, le=1024)
    replicas: int = Field(0, ge=0, le=100)
    k1: float = Field(0.82, ge=0, allow_inf_nan=False)
    b: float = Field(0.68, ge=0, le=1)
    threads: int = Field(THREADS, ge=1, le=16)

    @classmethod
    def of(cls, url: str, settings: Mapping[str, object] | None) -> Options:
        """:raises InputError: naming the setting."""
        known = cls.model_fields
        for name in settings or {}:
            if name not in known:
                raise InputError(
                    f"collection {redact(url)}: there is no setting {name!r} for an Elasticsearch index; wanted: "
                    f"{', '.join(known)}." + nearest(name, known)
                )
        try:
            return cls.model_validate(dict(settings or {}))
        except ValidationError as error:
            place, message = explain(error)[0]
            raise InputError(f"collection {redact(url)}: setting {place}: {message}.") from error


_CHANGEABLE = ("k1", "b", "replicas")


def changes(url: str, settings: Mapping[str, object]) -> dict[str, Any]:
    """Settings of an index that is there, as they are to be.

    :raises InputError: for one that cannot be changed, or for none.
    """
    for name in settings:
        if name not in _CHANGEABLE and name in Options.model_fields:
            raise InputError(
                f"collection {redact(url)}: {name} is fixed when an index is made; wanted: one of "
                f"{', '.join(_CHANGEABLE)}. For another number of {name} index the passages again with --replace."
            )
    if not settings:
        raise InputError(f"collection {redact(url)}: nothing is to be changed; give one of {', '.join(_CHANGEABLE)}.")
    given = Options.of(url, settings)
    return {name: getattr(given, name) for name in settings}
