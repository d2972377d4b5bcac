"""User, password, API key and authority: from the environment or from secret files, never from a URL or a YAML file."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from convqa.errors import InputError
from convqa.stores.elasticsearch.target import Target

API_KEY = "CONVQA_ELASTICSEARCH_API_KEY"
PASSWORD = "CONVQA_ELASTICSEARCH_PASSWORD"
CA = "CONVQA_ELASTICSEARCH_CA"
SUPERUSER = "elastic"
VARIABLES = f"{API_KEY} or {PASSWORD} (or {API_KEY}_FILE or {PASSWORD}_FILE, which name a file that holds it)"


@dataclass(frozen=True, slots=True)
class Credentials:
    """How to log in to a server: an API key, or user and password, or nothing. ``ca``: the authority's file."""

    user: str = ""
    password: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    ca: str = ""

    @classmethod
    def of(cls, target: Target, environment: Mapping[str, str] = os.environ) -> Credentials:
        """What the environment has for a server. An empty variable is as good as none.

        :raises InputError: for both, a file that cannot be read, or a user without password.
        """
        api_key, password = _secret(API_KEY, environment), _secret(PASSWORD, environment)
        if api_key and password:
            raise InputError(f"the environment has both {API_KEY} and {PASSWORD}; unset one of them.")
        if target.user and not password:
            raise InputError(
                f"collection {target}: the URL names a user, but {PASSWORD} (or {PASSWORD}_FILE) is not set. (With "
                f"{API_KEY}, leave the user out.)"
            )
        ca = environment.get(CA, "") if target.https else ""
        if ca and not os.access(ca, os.R_OK):
            raise InputError(f"{CA}: {ca} cannot be read. Wanted: the authority's certificate (PEM).")
        return cls((target.user or SUPERUSER) if password else "", password, api_key, ca)

    @property
    def told(self) -> str:
        """What is given, without the secret."""
        if self.api_key:
            return f"the API key of {API_KEY}"
        return f"user {self.user!r} with the password of {PASSWORD}" if self.password else "no login"

    @property
    def options(self) -> dict[str, object]:
        """As the client takes them."""
        # The client would take ASCII alone; the server reads UTF-8 (RFC 7617).
        login = b64encode(f"{self.user}:{self.password}".encode()).decode() if self.password else ""
        found = {"api_key": self.api_key, "basic_auth": login, "ca_certs": self.ca}
        return {name: value for name, value in found.items() if value}


def _secret(name: str, environment: Mapping[str, str]) -> str:
    """A variable's value, or what the file holds that ``NAME_FILE`` names."""
    value, file = environment.get(name, ""), environment.get(f"{name}_FILE", "")
    if file and not value:
        try:
            # A line break at the end of a file is its editor's.
            value = Path(file).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{name}_FILE: {file} cannot be read ({type(error).__name__}).") from None
    if not value.isprintable() or (name == API_KEY and not value.isascii()):
        raise InputError(f"{name} has signs that it cannot have (a line break?); wanted: the secret alone.")
    return value
