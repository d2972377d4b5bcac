"""What a user asks of an index: settings of one that convqa makes, and parameters of a search."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from convqa.errors import InputError, nearest
from convqa.stores.base import Info, SearchParams, refuse_unknown
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


def refuse(params: SearchParams, info: Info, place: str, changeable: bool = False) -> None:
    """Raise for the first parameter that is asked for and that an index cannot honour.

    :param changeable: whether its k1 and b are convqa's to change.
    :raises InputError: for k1 or b, which every pipeline gives, it says how to search with those of the index.
    """
    for name, value, fixed in (("k1", params.k1, info.k1), ("b", params.b, info.b)):
        if value is None or fixed is None or math.isclose(value, fixed, rel_tol=1e-6):
            continue
        other = " or change the index: convqa collections set URL --k1 K1 --b B --yes." if changeable else ""
        raise InputError(
            f"{place} was made with k1={info.k1!r} and b={info.b!r} and cannot search with {name}={value!r}. Search "
            f"with its own: --set retriever.k1=null --set retriever.b=null{',' if other else '.'}{other}"
        )
    if info.k1 is None and (params.k1 is not None or params.b is not None):
        raise InputError(
            f"{place} is not scored by BM25, so that k1 and b mean nothing; found k1={params.k1!r}, b={params.b!r}. "
            "Leave them out: --set retriever.k1=null --set retriever.b=null."
        )
    refuse_unknown(params, info, place)
