"""What a server serves, to whom, and within which limits: a file of ``configs/server``, and the command's options."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from convqa.domain import MetaValue
from convqa.errors import InputError
from convqa.places import shipped
from convqa.safe_yaml import read_yaml
from convqa.validation import Record, read_as, refuse_secrets

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

FilterFields = dict[str, list[MetaValue]]
"""A filter as it is written: meta field -> accepted values."""


class _Section(Record, extra="forbid"):
    """A part of the file: unknown fields are refused."""


class Served(_Section):
    """A pipeline with its collection. ``pipeline`` is a shipped name or a file; empty = the name that it is served as.

    ``llm`` is a language model for it, as ``--llm`` takes it. ``examples`` are questions to begin with; None = some are
    drawn from the collection.
    """

    pipeline: str = ""
    collection: str | None = None
    set: dict[str, Any] = {}
    llm: str | None = None
    examples: list[str] | None = None


class Key(_Section):
    """A key, in an environment variable (``env``) or a file, and the passages that it opens (None: all)."""

    env: str = ""
    file: str = ""
    filter: FilterFields | None = None

    def secret(self, name: str) -> str:
        """The key itself.

        :raises InputError: if it is not there, or too short to be one.
        """
        if bool(self.env) == bool(self.file):
            raise InputError(f"keys.{name}: wanted is either env, the name of a variable, or file, that of a file.")
        place = f"the environment variable {self.env}" if self.env else f"the file {self.file}"
        try:
            found = os.environ.get(self.env, "") if self.env else Path(self.file).read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise InputError(f"keys.{name}: {place} cannot be read ({error}).") from error
        if len(found.strip()) < _SHORTEST_KEY:
            raise InputError(f"keys.{name}: {place} holds no key; wanted is one of {_SHORTEST_KEY} letters or more.")
        return found.strip()


class Users(_Section):
    """Users whom a proxy or a chat client names in a header, because it lets all of them use one key.

    Only requests with one of ``keys`` are believed: anybody could send the header. ``filters`` say what each user may
    see; ``others`` what the rest may, None = nothing: they are refused. The value ``{user}`` in a filter stands for the
    user's name.
    """

    header: str
    keys: Annotated[list[str], Field(min_length=1)]
    filters: dict[str, FilterFields] = {}
    others: FilterFields | None = None


class Limits(_Section):
    """What one request, and all of them together, may ask for. ``per_minute`` counts a caller's questions; 0 = any."""

    body_bytes: Annotated[int, Field(ge=1_000)] = 1_000_000
    question: Annotated[int, Field(ge=1)] = 4_000
    history: Annotated[int, Field(ge=0)] = 100
    seconds: Annotated[float, Field(gt=0)] = 120.0
    waiting: Annotated[int, Field(ge=1)] = 256
    per_minute: Annotated[int, Field(ge=0)] = 0


class Batch(_Section):
    """How questions of several users are gathered: at most so many ``turns``, for at most so many ``milliseconds``."""

    turns: Annotated[int, Field(ge=1, le=256)] = 32
    milliseconds: Annotated[float, Field(ge=0, le=50)] = 2.0


class ServerConfig(_Section):
    """A file of ``configs/server``. ``without_keys`` permits a server without keys beyond this machine.

    ``filter`` says which passages anybody may see. ``conversations`` is the file that keeps them; None = one in the
    folder of the user's data, for these collections alone; "" = they are not kept. ``hosts``: names by which a proxy
    on this machine calls a server without keys.
    """

    pipelines: dict[str, Served] = {"talk": Served()}
    collection: str | None = None
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    without_keys: bool = False
    keys: dict[str, Key] = {}
    users: Users | None = None
    filter: FilterFields = {}
    conversations: str | None = None
    cors: list[str] = []
    hosts: list[str] = []
    limits: Limits = Limits()
    batch: Batch = Batch()

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOOPBACK or self.host.startswith("127.")

    @cached_property
    def secrets(self) -> Mapping[str, str]:
        """The keys themselves, by name."""
        return {name: key.secret(name) for name, key in self.keys.items()}

    def checked(self) -> ServerConfig:
        """The same.

        :raises InputError: for a server that anybody could ask, and for keys that are not there.
        """
        if not self.secrets and not self.is_local and not self.without_keys:
            raise InputError(
                f"host {self.host}: others could reach the server, and it has no keys. Name some under keys: in a file "
                "for --config, or say --without-keys if everybody there may ask."
            )
        if self.users and (unknown := sorted(set(self.users.keys) - set(self.keys))):
            raise InputError(f"users.keys: there is no key {unknown[0]!r} under keys.")
        return self


_SHORTEST_KEY = 16


def read_config(name: str) -> ServerConfig:
    """A file by its path, or a shipped one of ``configs/server`` by its name.

    :raises InputError: naming the file and the field.
    """
    file = Path(name) if name.endswith((".yaml", ".yml")) else shipped("configs", "server", f"{name}.yaml")
    if not file.is_file():
        raise InputError(f"--config {name}: there is no such file. Wanted: a YAML file, or a name in configs/server.")
    found = read_yaml(file, "server file") or {}
    refuse_secrets(found, str(file))
    return read_as(ServerConfig, found, str(file), "docs/server.md has all fields.")
