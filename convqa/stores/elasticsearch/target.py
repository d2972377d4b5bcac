"""Where an Elasticsearch server and its index are: a URL, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from convqa.errors import InputError
from convqa.stores.url import redact

SCHEME = "elasticsearch"
_TLS = f"{SCHEME}+https"
_PORT = 9200
_FORM = f"{SCHEME}://[USER@]HOST[:9200]/INDEX or {_TLS}://[USER@]HOST[:9200]/INDEX"
_FORBIDDEN = re.compile(r'[\\/*?"<>| ,#:\x00-\x1f]')
_LONGEST_NAME = 255
"""Bytes of UTF-8."""


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
        except ValueError as error:
            raise InputError(f"collection {shown}: the URL has a mistake ({_bare(error)}). Wanted: {_FORM}.") from None
        if parts.password is not None:
            raise InputError(
                f"collection {shown}: the URL has a password, which would end in logs and shell histories. Leave it "
                "out (elasticsearch://USER@HOST/INDEX) and set CONVQA_ELASTICSEARCH_PASSWORD instead."
            )
        if parts.scheme not in {SCHEME, _TLS} or not host or parts.query or parts.fragment:
            raise InputError(f"collection {shown} is no place on an Elasticsearch server. Wanted: {_FORM}.")
        index = unquote(parts.path.strip("/"))
        target = cls(unquote(host), port or _PORT, parts.scheme == _TLS, unquote(parts.username or ""), index)
        if index:
            check_name(index, shown)
        elif needs_index:
            raise InputError(f"collection {shown} names a server and no index. Wanted: {_FORM}.")
        return target

    @property
    def url(self) -> str:
        """As a user writes it; equal for equal targets."""
        scheme = _TLS if self.https else SCHEME
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{user}{host}:{self.port}" + (f"/{quote(self.index, safe='')}" if self.index else "")

    @property
    def http(self) -> str:
        """The server as HTTP clients name it, without user and index."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.https else 'http'}://{host}:{self.port}"

    def __str__(self) -> str:
        return redact(self.url)


def check_name(name: str, place: str) -> None:
    """Raise unless Elasticsearch takes a name for an index.

    :raises InputError: with the rule that it breaks.
    """
    found = _FORBIDDEN.search(name)
    if found:
        fault = f"it has {found[0]!r}"
    elif name != name.lower():
        fault = "it has capital letters"
    elif name[0] in "-_+":
        fault = f"it begins with {name[0]!r}"
    elif name in {".", ".."}:
        fault = "it is a name for folders"
    elif len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
        fault = f"it has more than {_LONGEST_NAME} bytes"
    else:
        return
    raise InputError(
        f"collection {place}: Elasticsearch takes no index with the name {name!r}: {fault}. Wanted: lower-case "
        "letters, digits, '-', '_' and '.', beginning with a letter or digit."
    )


def _bare(error: ValueError) -> str:
    """What was wrong, without the value: a port may be a part of a password."""
    return "no number for a port" if "ort" in str(error) else "no host that can be read"
