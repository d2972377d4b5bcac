"""URLs of collections, as they may be shown."""

from __future__ import annotations

import re

_USER = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+://).*@", re.DOTALL)
_VALUE = re.compile(r"([?&;][^=&;]*=)[^&;]*")


def redact(url: str) -> str:
    """A URL without user, password and the values of its query; a folder stays as it is.

    Rather too much is hidden than too little: a password may hold any sign.

    >>> redact("elasticsearch://me:secret@host:9200/index?api_key=abc")
    'elasticsearch://***@host:9200/index?api_key=***'
    >>> redact("data/a=b?c=d@e")
    'data/a=b?c=d@e'
    """
    return _VALUE.sub(r"\1***", _USER.sub(r"\1***@", url).partition("#")[0]) if "://" in url else url
