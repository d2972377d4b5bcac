"""The URL of a collection in Elasticsearch, and the login from the environment or secret files."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from convqa.errors import InputError
from convqa.stores.address import redact

API_KEY = "CONVQA_ELASTICSEARCH_API_KEY"
PASSWORD = "CONVQA_ELASTICSEARCH_PASSWORD"
CA = "CONVQA_ELASTICSEARCH_CA"
SUPERUSER = "elastic"
VARIABLES = f"{API_KEY} or {PASSWORD} (or {API_KEY}_FILE or {PASSWORD}_FILE for a file with it)"

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
        if index and (not _NAME.fullmatch(index) or index != index.lower()):
            raise InputError(
                f"collection {shown}: {index!r} is not a valid index name; expected lower-case letters, digits, '-', "
                "'_' and '.', beginning with a letter or digit."
            )
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
        raise InputError(f"{CA}: {ca} is not readable; expected the authority's certificate (PEM).")
    options = {"api_key": api_key, "ca_certs": ca}
    if password:
        # The client would encode ASCII only; the server reads UTF-8 (RFC 7617).
        options["basic_auth"] = b64encode(f"{target.user or SUPERUSER}:{password}".encode()).decode()
    return {name: value for name, value in options.items() if value}


def _secret(name: str, environment: Mapping[str, str]) -> str:
    """Return a variable's value, or the content of the file in ``NAME_FILE``."""
    value, file = environment.get(name, ""), environment.get(f"{name}_FILE", "")
    if file and not value:
        try:
            # Editors end a file with a line break.
            value = Path(file).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{name}_FILE: {file} is not readable ({type(error).__name__}).") from None
    if not value.isprintable() or (name == API_KEY and not value.isascii()):
        raise InputError(f"{name} has invalid characters (a line break?); expected the secret alone.")
    return value
