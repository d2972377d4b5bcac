"""Where an Elasticsearch server and its index are: a URL, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from convqa.errors import InputError
from convqa.stores.address import redact

SCHEME = "elasticsearch"
_TLS = f"{SCHEME}+https"
_PORT = 9200
_FORM = f"{SCHEME}://[USER@]HOST[:9200]/INDEX or {_TLS}://[USER@]HOST[:9200]/INDEX"
_NAME = re.compile(r'(?![-_+]|\.{1,2}$)[^\\/*?"<>| ,#:\x00-\x1f]+')
"""What Elasticsearch takes as an index, but for capital letters; ``*`` and ``,`` would mean several."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server, and one of its indexes or aliases ("" = none); never a password."""

    host: str
    port: int
    https: bool
    user: str
    index: str

    @classmethod
    def parse(cls, url: str, needs_index: bool = True) -> Target:
        """The parts of ``elasticsearch://[user@]host[:9200]/index`` or ``elasticsearch+https://...``.

        :raises InputError: for anything else, and for a password, which no message shows.
        """
        shown = redact(url)
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            # Its words may show a part of a password.
            raise InputError(f"collection {shown}: host or port cannot be read. Wanted: {_FORM}.") from None
        if parts.password is not None:
            raise InputError(
                f"collection {shown}: the URL has a password, which would end in logs and shell histories. Leave it "
                "out (elasticsearch://USER@HOST/INDEX) and set CONVQA_ELASTICSEARCH_PASSWORD instead."
            )
        if parts.scheme not in {SCHEME, _TLS} or not host or parts.query or parts.fragment:
            raise InputError(f"collection {shown} is no place on an Elasticsearch server. Wanted: {_FORM}.")
        index = unquote(parts.path.strip("/"))
        if not index and needs_index:
            raise InputError(f"collection {shown} names a server and no index. Wanted: {_FORM}.")
        if index and (not _NAME.fullmatch(index) or index != index.lower()):
            raise InputError(
                f"collection {shown}: Elasticsearch takes no index with the name {index!r}. Wanted: lower-case "
                "letters, digits, '-', '_' and '.', beginning with a letter or digit."
            )
        return cls(unquote(host), port or _PORT, parts.scheme == _TLS, unquote(parts.username or ""), index)

    @property
    def url(self) -> str:
        """As a user writes it; equal for equal targets."""
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        return f"{_TLS if self.https else SCHEME}://{user}{self._place}" + (
            f"/{quote(self.index, safe='')}" if self.index else ""
        )

    @property
    def http(self) -> str:
        """The server as HTTP clients name it, without user and index."""
        return f"{'https' if self.https else 'http'}://{self._place}"

    @property
    def _place(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return redact(self.url)
