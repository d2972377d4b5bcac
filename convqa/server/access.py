"""Who asks, and what they may see: keys, users that a proxy names, filters that no client can widen, rates."""

from __future__ import annotations

import hmac
import math
import time
from dataclasses import dataclass, field

from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.exceptions import HTTPException
from starlette.requests import Request

from convqa.components.filtering import both, filter_of
from convqa.domain import Passage
from convqa.server.config import FilterFields, ServerConfig
from convqa.stores.base import Filter
from convqa.stores.content import meta_term, meta_terms

_USER = "{user}"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. ``owner`` names whose conversations are kept together; ``filter`` says which passages they may see."""

    owner: str
    filter: Filter = field(default_factory=dict, hash=False)


class Access:
    """The rules of a server, applied to a request."""

    def __init__(self, config: ServerConfig) -> None:
        self._secrets = {name: secret.encode() for name, secret in config.secrets.items()}
        self._filters = {
            name: both(filter_of(config.filter), filter_of(key.filter)) for name, key in config.keys.items()
        }
        self._everybody = filter_of(config.filter)
        self._users = config.users
        self._rate = parse(f"{config.limits.per_minute}/minute") if config.limits.per_minute else None
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    @property
    def has_rules(self) -> bool:
        """Whether some callers may see passages that others may not."""
        return bool(self._users or self._everybody or any(self._filters.values()))

    def caller(self, request: Request) -> Caller:
        """Who asks.

        :raises HTTPException: 401 without a key that is known; 403 for a user who may see nothing.
        """
        key = self._key(request) if self._secrets else ""
        accepted = self._filters.get(key, self._everybody)
        users = self._users
        if users is None or key not in users.keys:
            return Caller(key, accepted)
        named = request.headers.getlist(users.header)
        if len(named) > 1:
            raise HTTPException(400, f"The header {users.header} is there twice.")
        user = "".join(named).strip()
        if not user:
            raise HTTPException(
                403, f"This server wants to know which user asks: the header {users.header} is missing."
            )
        rule = users.filters.get(user, users.others)
        if rule is None:
            raise HTTPException(403, "This user may see no passages here.")
        return Caller(f"{key}\n{user}", both(accepted, filter_of(_for(user, rule))))

    def count(self, caller: Caller) -> None:
        """Count a question of a caller.

        :raises HTTPException: 429 for one too many.
        """
        if self._rate is None or self._limiter.hit(self._rate, caller.owner):
            return
        left = self._limiter.get_window_stats(self._rate, caller.owner).reset_time - time.time()
        seconds = max(1, math.ceil(left))
        raise HTTPException(
            429,
            f"More than {self._rate.amount} questions a minute. Ask again in {seconds} s.",
            {"Retry-After": f"{seconds}"},
        )

    def _key(self, request: Request) -> str:
        """The name of the key that a request has, found in the same time whichever it is."""
        given = request.headers.get("Authorization", "").partition(" ")[2].strip().encode("latin-1")
        matching = [name for name, secret in self._secrets.items() if hmac.compare_digest(secret, given)]
        if not matching:
            raise HTTPException(
                401, "This server wants a key: Authorization: Bearer KEY.", {"WWW-Authenticate": "Bearer"}
            )
        return matching[0]


def _for(user: str, rule: FilterFields) -> FilterFields:
    return {name: [user if value == _USER else value for value in values] for name, values in rule.items()}


def passes(passage: Passage, filter: Filter) -> bool:
    """Whether a filter lets a passage through, as it does in a search.

    >>> passes(Passage("p", "", meta={"year": 2001}), {"year": (2001.0, 2002)})
    True
    >>> passes(Passage("p", ""), {"year": (2001,)})
    False
    """
    has = {meta_term(name, value) for name, value in passage.meta.items()}
    return all(has.intersection(group) for group in meta_terms(filter))


def within(narrow: Filter, wide: Filter) -> bool:
    """Whether a filter surely lets through nothing that another does not.

    >>> within({"set": ("law",), "year": (1,)}, {"set": ("law", "wiki")}), within({}, {"set": ("law",)})
    (True, False)
    """
    return meta_terms(both(narrow, wide)) == meta_terms(narrow)
