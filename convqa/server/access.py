"""Access control: keys, users named by a proxy, passage filters and rate limits."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.exceptions import HTTPException
from starlette.requests import Request

from convqa.components.filtering import both, filter_of
from convqa.domain import Passage
from convqa.server.config import ServerConfig
from convqa.stores.base import Filter
from convqa.stores.content import meta_term, meta_terms

_USER = "{user}"


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request. ``owner``: key of the caller's conversations; ``filter``: the passages that they may
    see."""

    owner: str
    filter: Filter = field(default_factory=dict, hash=False)


class Access:
    """The access rules of a server."""

    def __init__(self, config: ServerConfig) -> None:
        self._everybody = filter_of(config.filter)
        self._secrets: dict[str, bytes] = {}
        self._filters: dict[str, Filter] = {}
        for name, key in config.keys.items():
            self._secrets[name] = config.secrets[name].encode()
            self._filters[name] = both(self._everybody, filter_of(key.filter))
        self._users = config.users
        per_minute = config.limits.per_minute
        self._rate = parse(f"{per_minute}/minute") if per_minute else None
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    @property
    def has_rules(self) -> bool:
        """Whether callers differ in the passages that they may see."""
        return bool(self._users or self._everybody or any(self._filters.values()))

    def caller(self, request: Request) -> Caller:
        """Identify the sender of a request.

        :raises HTTPException: 401 without a valid key; 403 for a user who may see nothing.
        """
        key = self._key(request) if self._secrets else ""
        accepted = self._filters.get(key, self._everybody)
        users = self._users
        if users is None or key not in users.keys:
            return Caller(key, accepted)
        values = request.headers.getlist(users.header)
        if len(values) > 1:
            raise HTTPException(400, f"Duplicate header {users.header}.")
        user = "".join(values).strip()
        if not user:
            raise HTTPException(403, f"This server requires the name of the user in the header {users.header}.")
        rule = users.filters.get(user, users.others)
        if rule is None:
            raise HTTPException(403, "This user has no access to any passages.")
        own = {}
        for field_name, field_values in rule.items():
            own[field_name] = [user if value == _USER else value for value in field_values]
        return Caller(f"{key}\n{user}", both(accepted, filter_of(own)))

    def count(self, caller: Caller) -> None:
        """Count a question of a caller.

        :raises HTTPException: 429 over the rate limit.
        """
        if self._rate is None or self._limiter.hit(self._rate, caller.owner):
            return
        message = f"More than {self._rate.amount} questions per minute. Try again in a minute."
        raise HTTPException(429, message, {"Retry-After": "60"})

    def _key(self, request: Request) -> str:
        """Return the name of a request's key, in constant time."""
        header = request.headers.get("Authorization", "")
        token = header.partition(" ")[2].strip().encode("latin-1")
        names = [name for name, secret in self._secrets.items() if hmac.compare_digest(secret, token)]
        if not names:
            message = "This server requires a key: Authorization: Bearer KEY."
            raise HTTPException(401, message, {"WWW-Authenticate": "Bearer"})
        return names[0]


def passes(passage: Passage, filter: Filter) -> bool:
    """Return whether a passage passes a filter, as in a search.

    >>> passes(Passage("p", "", meta={"year": 2001}), {"year": (2001.0, 2002)})
    True
    >>> passes(Passage("p", ""), {"year": (2001,)})
    False
    """
    terms = {meta_term(name, value) for name, value in passage.meta.items()}
    return all(terms.intersection(group) for group in meta_terms(filter))


def within(narrow: Filter, wide: Filter) -> bool:
    """Return whether every passage that passes ``narrow`` certainly passes ``wide``.

    >>> within({"set": ("law",), "year": (1,)}, {"set": ("law", "wiki")}), within({}, {"set": ("law",)})
    (True, False)
    """
    return meta_terms(both(narrow, wide)) == meta_terms(narrow)
