"""Server settings: pipelines, keys, users and limits, from a file in ``configs/server`` and the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from convqa.domain import MetaValue
from convqa.errors import InputError
from convqa.places import yaml_file
from convqa.safe_yaml import read_yaml
from convqa.validation import Record, read_as, refuse_secrets

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

_MIN_KEY_CHARS = 16
_VARIABLE = re.compile(r"[A-Z_]+|[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_MAYBE_KEY = re.compile(rf"(?<=, got )(?:(?!; \w|\. See ).){{{_MIN_KEY_CHARS},}}")
"""The value in a message. It may be a key in the wrong place."""

FilterFields = dict[str, list[MetaValue]]
"""A filter in a file: meta field -> accepted values."""


class _Section(Record, extra="forbid"):
    """A part of the file, which refuses unknown fields."""


class ServedPipeline(_Section):
    """A pipeline with its collection.

    ``pipeline``: a shipped name or a file; empty = the served name. ``llm``: a language model, as for ``--llm``.
    ``examples``: example questions for the page, with a ``title`` and a sentence ``about`` the collection.
    """

    pipeline: str = ""
    collection: str | None = None
    set: dict[str, Any] = {}
    llm: str | None = None
    title: str = ""
    about: str = ""
    examples: list[str] = []


class AccessKey(_Section):
    """A key in an environment variable (``env``) or a ``file``. ``filter``: its passages, None = all.

    ``documents``: whether it may add documents, if the server takes some.
    """

    env: str = ""
    file: str = ""
    filter: FilterFields | None = None
    documents: bool = False

    def secret(self, name: str) -> str:
        """Read the key.

        :raises InputError: if it is missing or too short.
        """
        name = name if len(name) < _MIN_KEY_CHARS else "***"
        if bool(self.env) == bool(self.file):
            raise InputError(f"keys.{name}: expected either env, the name of a variable, or file, the name of a file.")
        # Each name may be the key itself, in the wrong place: messages show only what looks like a name.
        if self.env:
            shown = self.env if _VARIABLE.fullmatch(self.env) else "named under env"
            source = f"the environment variable {shown}"
            key = os.environ.get(self.env, "").strip()
        else:
            source = "the file named under file"
            try:
                key = Path(self.file).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeError) as error:
                reason = getattr(error, "strerror", None) or "it is not UTF-8"
                raise InputError(f"keys.{name}: {source} cannot be read ({reason}).") from None
        if len(key) < _MIN_KEY_CHARS:
            raise InputError(f"keys.{name}: expected a key of {_MIN_KEY_CHARS} characters or more in {source}.")
        return key


class UserRules(_Section):
    """Users whom a proxy or a chat client names in a header because they share a key.

    The header counts only with one of ``keys``, because anybody could send it. ``filters``: the passages that each user
    may see. ``others``: those for all other users, None = these are refused. The value ``{user}`` in a filter is
    replaced by the user's name. ``documents``: the users who may add documents, if the key may.
    """

    header: str
    keys: Annotated[list[str], Field(min_length=1)]
    filters: dict[str, FilterFields] = {}
    others: FilterFields | None = None
    documents: list[str] = []


class Limits(_Section):
    """Limits of a request, and of waiting requests."""

    body_bytes: Annotated[int, Field(ge=1_000)] = 1_000_000
    document_bytes: PositiveInt = 50_000_000
    question: PositiveInt = 4_000
    history: NonNegativeInt = 100
    seconds: PositiveFloat = 120.0
    waiting: PositiveInt = 256


class BatchLimits(_Section):
    """Batching of several users' questions: at most ``turns`` questions, waiting at most ``milliseconds``."""

    turns: Annotated[int, Field(ge=1, le=256)] = 32
    milliseconds: Annotated[float, Field(ge=0, le=50)] = 2.0


class KeptFor(_Section):
    """Kept conversations: their ``file``, as in ``conversations``, and for how many ``days`` after their last turn."""

    file: str | None = None
    days: PositiveInt | None = None


class ServerConfig(_Section):
    """A file in ``configs/server``.

    ``without_keys``: allow access from other machines without keys. ``filter``: the passages that anybody may see.
    ``conversations``: the conversations file; None = one in the user's data folder for these collections; "" = do not
    keep conversations. ``hosts``: names by which a local proxy may address a server without keys. ``originals``: the
    folder of the indexed documents, which the page may open. ``documents``: whether documents can be added there.
    ``public_url``: the address that links begin with.
    """

    pipelines: dict[str, ServedPipeline] = {"talk": ServedPipeline()}
    collection: str | None = None
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    without_keys: bool = False
    keys: dict[str, AccessKey] = {}
    users: UserRules | None = None
    filter: FilterFields = {}
    conversations: str | KeptFor | None = None
    hosts: list[str] = []
    originals: str | None = None
    documents: bool = False
    public_url: str = ""
    limits: Limits = Limits()
    batch: BatchLimits = BatchLimits()

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK or self.host.startswith("127.")

    @property
    def kept(self) -> KeptFor:
        """How conversations are kept."""
        given = self.conversations
        return given if isinstance(given, KeptFor) else KeptFor(file=given)

    @cached_property
    def secrets(self) -> Mapping[str, str]:
        """The keys by name."""
        return {name: key.secret(name) for name, key in self.keys.items()}

    def checked(self) -> ServerConfig:
        """Return the settings if they are safe to serve.

        :raises InputError: for a server open to other machines, or a missing key.
        """
        if len({*self.secrets.values()}) < len(self.secrets):
            raise InputError("keys: two names have the same key, so that only the rules of one would count.")
        if not self.secrets and not self.is_local and not self.without_keys:
            raise InputError(
                f"host {self.host}: other machines can reach the server, but it has no keys. Add some under keys: in a "
                "file for --config, or pass --without-keys to let everybody ask."
            )
        if self.originals is not None and not Path(self.originals).is_dir():
            raise InputError(f"originals: {self.originals} is not a folder; name the one that was indexed.")
        for name in self.users.keys if self.users else ():
            if name not in self.keys:
                raise InputError("users.keys: expected names under keys.")
        if self.documents and (self.originals is None or not (self.keys or self.is_local)):
            expected = "originals: FOLDER, where added documents are kept; keys, if other machines can reach the server"
            raise InputError(f"documents: expected {expected}.")
        return self


def read_config(name: str) -> ServerConfig:
    """Read a file, given its path or its name in ``configs/server``.

    :raises InputError: naming the file and the field.
    """
    file = yaml_file(name, "--config", "configs", "server")
    settings = read_yaml(file, "server file") or {}
    refuse_secrets(settings, str(file))
    try:
        return read_as(ServerConfig, settings, str(file), "See docs/reference/server.md for all fields.")
    except InputError as error:
        raise InputError(_MAYBE_KEY.sub("***", str(error))) from None
