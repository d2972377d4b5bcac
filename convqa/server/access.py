"""Access control: keys, users named by a proxy, and the passages that each may see."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.requests import Request

from convqa.components.filtering import both, filter_of
from convqa.server.config import ServerConfig, UserRules
from convqa.stores.base import Filter
from convqa.stores.content import meta_terms

_USER = "{user}"
_BLANKS = " \t"


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request. ``owner``: name of the key and the user, "" without; ``filter``: the passages to see.

    ``may_add``: whether it may add documents. Whoever may not see all passages may not.
    """

    owner: str
    filter: Filter = field(default_factory=dict, hash=False)
    may_add: bool = False


class Access:
    """The access rules of a server."""

    def __init__(self, config: ServerConfig) -> None:
        everything = filter_of(config.filter)
        self._everybody = Caller("", everything, config.documents and not everything)
        self._callers: dict[bytes, Caller] = {}
        for name, key in config.keys.items():
            accepted = both(everything, filter_of(key.filter))
            caller = Caller(name, accepted, config.documents and key.documents and not accepted)
            self._callers[config.secrets[name].encode()] = caller
        self._users = config.users

    def caller(self, request: Request) -> Caller:
        """Identify the sender of a request.

        :raises HTTPException: 401 without a valid key; 403 for a user who may see nothing.
        """
        caller = self._holder(request) if self._callers else self._everybody
        users = self._users
        if users is None or caller.owner not in users.keys:
            return caller
        user = _user(request, users)
        rule = users.filters.get(user, users.others)
        if rule is None:
            raise HTTPException(403, "This user has no access to any passages.")
        own = {}
        for name, values in rule.items():
            own[name] = [user if value == _USER else value for value in values]
        may_add = caller.may_add and user in users.documents and not own
        return Caller(f"{caller.owner}\n{user}", both(caller.filter, filter_of(own)), may_add)

    def _holder(self, request: Request) -> Caller:
        """Return the holder of a request's key."""
        header = request.headers.get("Authorization", "")
        token = header.partition(" ")[2].strip(_BLANKS).encode("latin-1")
        for secret, caller in self._callers.items():
            if hmac.compare_digest(secret, token):
                return caller
        message = "This server requires a key: Authorization: Bearer KEY."
        raise HTTPException(401, message, {"WWW-Authenticate": "Bearer"})


def _user(request: Request, users: UserRules) -> str:
    """Return the name of the user in a request's header.

    :raises HTTPException: 400 for two headers or one that is not UTF-8; 403 without a name.
    """
    values = request.headers.getlist(users.header)
    if len(values) > 1:
        raise HTTPException(400, f"Duplicate header {users.header}.")
    try:
        user = "".join(values).encode("latin-1").decode("utf-8").strip(_BLANKS)
    except UnicodeDecodeError:
        raise HTTPException(400, f"The header {users.header} is not UTF-8.") from None
    if not user:
        raise HTTPException(403, f"This server requires the name of the user in the header {users.header}.")
    return user


def within(narrow: Filter, wide: Filter) -> bool:
    """Return whether every passage that passes ``narrow`` certainly passes ``wide``.

    >>> within({"set": ("law",), "year": (1,)}, {"set": ("law", "wiki")}), within({}, {"set": ("law",)})
    (True, False)
    """
    return meta_terms(both(narrow, wide)) == meta_terms(narrow)
