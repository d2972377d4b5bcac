"""The URL of a collection in Elasticsearch, and the login from the environment."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from convqa.errors import InputError
from convqa.stores.address import redact

API_KEY = "CONVQA_ELASTICSEARCH_API_KEY"
PASSWORD = "CONVQA_ELASTICSEARCH_PASSWORD"
CA = "CONVQA_ELASTICSEARCH_CA"
SUPERUSER = "elastic"
VARIABLES = f"{API_KEY} or {PASSWORD}"

SCHEME = "elasticsearch"
_TLS = f"{SCHEME}+https"
_PORT = 9200
_FORM = f"{SCHEME}://[USER@]HOST[:9200]/INDEX or {_TLS}://[USER@]HOST[:9200]/INDEX"
_NAME = re.compile(r'(?![-_+]|\.{1,2}$)[^\\/*?"<>| ,#:\x00-\x1f\ud800-\udfff]+')
"""Valid names of an index, apart from capital letters; ``*`` and ``,`` would match several indexes."""


@dataclass(frozen=True, slots=True)
class IndexTarget:
    """A server and one of its indexes or aliases ("" for none), without a password."""

    host: str
    port: int
    https: bool
    user: str
    index: str

    @classmethod
    def parse(cls, url: str, needs_index: bool = True) -> IndexTarget:
        """Parse ``elasticsearch://[user@]host[:9200]/index`` or ``elasticsearch+https://...``.

        :raises InputError: for other forms, and for a password, which no message shows.
        """
        shown = redact(url)
        malformed = InputError(f"collection {shown} is not the URL of an Elasticsearch index; expected {_FORM}.")
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
            port = parts.port
        except ValueError:
            # Its message may show part of a password.
            raise malformed from None
        if parts.password is not None:
            raise InputError(
                f"collection {shown}: the URL has a password, which logs and shell histories would keep. Leave it out "
                "(elasticsearch://USER@HOST/INDEX) and set CONVQA_ELASTICSEARCH_PASSWORD instead."
            )
        is_host = bool(host) and host.isprintable()
        if parts.scheme not in {SCHEME, _TLS} or not is_host or parts.query or parts.fragment:
            raise malformed
        index = unquote(parts.path.strip("/"))
        if not index and needs_index:
            raise malformed
        if index and not _NAME.fullmatch(index):
            raise InputError(f"collection {shown}: {index!r} is not a valid index name.")
        return cls(unquote(host), port or _PORT, parts.scheme == _TLS, unquote(parts.username or ""), index)

    @property
    def url(self) -> str:
        """The normalized URL; equal for equal targets."""
        scheme = _TLS if self.https else SCHEME
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        path = f"/{quote(self.index, safe='')}" if self.index else ""
        return f"{scheme}://{user}{self._host_and_port}{path}"

    @property
    def http(self) -> str:
        """The server's HTTP address, without user and index."""
        return f"{'https' if self.https else 'http'}://{self._host_and_port}"

    @property
    def _host_and_port(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return redact(self.url)


def credentials(target: IndexTarget, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the client's options with the login for a server. Empty variables of the environment count as unset."""
    api_key, password = environment.get(API_KEY, ""), environment.get(PASSWORD, "")
    if target.user and not password:
        raise InputError(f"collection {target}: the URL names a user, but {PASSWORD} is not set.")
    for name, value in ((API_KEY, api_key), (PASSWORD, password)):
        if not value.isprintable():
            raise InputError(f"{name} has invalid characters (a line break?); expected the secret alone.")
    ca = environment.get(CA, "") if target.https else ""
    if ca and not os.access(ca, os.R_OK):
        raise InputError(f"{CA}: {ca} is not readable; expected the authority's certificate (PEM).")
    if password:
        # The client would encode ASCII only; the server reads UTF-8 (RFC 7617).
        login = b64encode(f"{target.user or SUPERUSER}:{password}".encode()).decode()
        options = {"basic_auth": login, "ca_certs": ca}
    else:
        options = {"api_key": api_key, "ca_certs": ca}
    return {name: value for name, value in options.items() if value}
