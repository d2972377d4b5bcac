"""A collection's URL, and the files of ``configs/collections`` that describe one."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

from pydantic import Field

from convqa.domain import DEFAULT_LANGUAGE
from convqa.errors import InputError
from convqa.places import is_yaml, shipped_yaml, yaml_file
from convqa.safe_yaml import read_yaml
from convqa.text.analysis import analyzer
from convqa.validation import Record, read_as, refuse_secrets

SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):")
"""Start of an engine's URL. A folder has none; a Windows drive is a single letter."""

_USER = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+://).*@", re.DOTALL)
_VALUE = re.compile(r"([?&;][^=&;]*=)[^&;]*")
_SECRETS = "in this file. Set CONVQA_ELASTICSEARCH_API_KEY or CONVQA_ELASTICSEARCH_PASSWORD to the secret."
_ADVICE = "Expected url, and optionally language and settings."


class Address(Record, extra="forbid"):
    """A collection's URL, and what a file of ``configs/collections`` adds to it.

    ``language`` and ``settings`` are those of a new collection; the settings are passed to the engine that creates it.
    """

    url: str = Field(min_length=1)
    language: str | None = None
    settings: dict[str, int | float | str | bool] = {}


def address(name: str) -> Address:
    """Return the address of a URL, a folder, a YAML file, or the name of a shipped YAML file.

    :raises InputError: if the file is missing or malformed.
    """
    # Not validated, because a path may not be UTF-8.
    plain = Address.model_construct(url=name)
    if SCHEME.match(name) or Path(name).is_dir():
        return plain
    if is_yaml(name) or (name in shipped_yaml("configs", "collections") and not Path(name).exists()):
        return _read(yaml_file(name, "--collection", "configs", "collections"))
    return plain


def _read(path: Path) -> Address:
    data, where = read_yaml(path, "collection file"), f"collection file {path}"
    refuse_secrets(data, where, advice=_SECRETS)
    record = read_as(Address, data, where, _ADVICE)
    try:
        analyzer(record.language or DEFAULT_LANGUAGE)
    except InputError as error:
        raise InputError(f"{where}: language: {error}") from error
    return record.model_copy(update={"url": resolved(path.parent, record.url)})


def resolved(folder: Path, url: str) -> str:
    """Return a URL in which a path (``FOLDER`` or ``anserini:FOLDER``) is resolved against a folder."""
    scheme = SCHEME.match(url)
    if scheme is None:
        return str(folder / url)
    rest = url[scheme.end() :]
    return url if rest.startswith("//") else f"{scheme[0]}{folder / rest}"


def name_of(url: str, source: str = "") -> str:
    """Return the last part of a collection's URL, or of the file or input of its passages.

    >>> name_of("elasticsearch://host:9200/library"), name_of("/cache/8f2e", "/data/passages.jsonl")
    ('library', 'passages.jsonl')
    """
    return PurePath((source or redact(url)).rstrip("/")).name


def redact(url: str) -> str:
    """Return a URL without user, password and query values; return a folder unchanged.

    Redacts aggressively, because a password may contain any character.

    >>> redact("elasticsearch://me:secret@host:9200/index?api_key=abc")
    'elasticsearch://***@host:9200/index?api_key=***'
    >>> redact("data/a=b?c=d@e")
    'data/a=b?c=d@e'
    """
    if "://" not in url:
        return url
    without_user = _USER.sub(r"\1***@", url)
    return _VALUE.sub(r"\1***", without_user.partition("#")[0])
