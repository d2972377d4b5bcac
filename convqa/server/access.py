"""Access control: keys, and the passages that each may see."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.requests import Request

from convqa.components.filtering import both, filter_of
from convqa.domain import Passage
from convqa.server.config import ServerConfig
from convqa.stores.base import Filter
from convqa.stores.content import meta_term, meta_terms


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request. ``owner``: the name of the key, "" without keys; ``filter``: the passages to see."""

    owner: str
    filter: Filter = field(default_factory=dict, hash=False)


class Access:
    """The access rules of a server."""

    def __init__(self, config: ServerConfig) -> None:
        self._everybody = Caller("", filter_of(config.filter))
        self._callers: dict[bytes, Caller] = {}
        for name, key in config.keys.items():
            accepted = both(self._everybody.filter, filter_of(key.filter))
            self._callers[config.secrets[name].encode()] = Caller(name, accepted)

    def caller(self, request: Request) -> Caller:
        """Identify the sender of a request.

        :raises HTTPException: 401 without a valid key.
        """
        if not self._callers:
            return self._everybody
        header = request.headers.get("Authorization", "")
        token = header.partition(" ")[2].strip().encode("latin-1")
        for secret, caller in self._callers.items():
            if hmac.compare_digest(secret, token):
                return caller
        message = "This server requires a key: Authorization: Bearer KEY."
        raise HTTPException(401, message, {"WWW-Authenticate": "Bearer"})


def passes(passage: Passage, filter: Filter) -> bool:
    """Return whether a passage passes a filter, as in a search.

    >>> passes(Passage("p", "", meta={"year": 2001}), {"year": (2001.0, 2002)})
    True
    >>> passes(Passage("p", ""), {"year": (2001,)})
    False
    """
    terms = {meta_term(name, value) for name, value in passage.meta.items()}
    return all(terms.intersection(group) for group in meta_terms(filter))
