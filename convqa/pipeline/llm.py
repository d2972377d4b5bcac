"""Language models: their configuration, and pipelines in which one rewrites questions and writes answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from convqa.components.members import described, full_name
from convqa.errors import InputError
from convqa.pipeline.document import Node
from convqa.places import yaml_file
from convqa.safe_yaml import read_yaml
from convqa.validation import Record, read_as, refuse_secrets

KEY = "CONVQA_LLM_KEY"
"""The environment variable with the key for a server given by its URL, and for no other."""

_SERVER = re.compile(r"(?P<server>https?://([\w.-]+|\[[\da-f:]+\])(:\d{1,5})?)(?P<path>/[^?#]*)?", re.I)

Role = Literal["rewrite", "answer"]
_NODES: dict[Role, tuple[str, str]] = {"rewrite": ("rewriter", "llm"), "answer": ("builder", "generative")}
"""Role -> the pipeline's node and the member that replaces its component."""

_ADVICE = "See docs/reference/generating.md and the files of configs/llms."


class Llm(Record, extra="forbid"):
    """A file of ``configs/llms``: a server with OpenAI's API, its model, and the model's roles in a pipeline.

    :param key: the environment variable with the server's key; None = no key is sent.
    :param generation: parameters of every request, such as ``temperature``.
    :param context: how many tokens the model reads and writes.
    :param prompt: role -> a name in ``configs/prompts`` or a file.
    :param fallback: whether the pipeline's own rewriter and builder step in when the model fails. If not, an
        unavailable server stops the run.
    """

    url: str
    model: Annotated[str, Field(min_length=1)]
    key: str | None = None
    role: Annotated[list[Role], Field(min_length=1)] = ["rewrite", "answer"]
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 60.0
    retries: Annotated[int, Field(ge=0)] = 2
    concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    generation: dict[str, Any] = {}
    context: Annotated[int, Field(ge=1024)] = 8192
    prompt: dict[Role, str] = {}
    fallback: bool = True

    def parameters(self, role: Role) -> dict[str, Any]:
        """Return the parameters of the component with this role."""
        api_key = None
        if self.key:
            api_key = {"type": "env_var", "env_vars": [self.key], "strict": self.key != KEY}
        generator = {
            "model": self.model,
            "api_base_url": self.url,
            "api_key": api_key,
            "generation_kwargs": self.generation,
            "timeout": self.timeout,
            # A user is waiting, so the fallback is better than a second attempt.
            "max_retries": 0 if self.fallback else self.retries,
        }
        parameters = {
            "component": {"type": "convqa.components.chat_server.ChatServer", "init_parameters": generator},
            "concurrency": self.concurrency,
            "cache_replies": not self.fallback,
        }
        if role in self.prompt:
            parameters["prompt"] = self.prompt[role]
        if role == "answer":
            parameters["context"] = self.context
        return parameters


def read_llm(llm: str | Path, model: str | None = None, role: Sequence[str] | None = None, **more: Any) -> Llm:
    """Return a language model, given its server's URL, a name in ``configs/llms``, or the path of such a file.

    :param model: the model's name on the server; overrides the file's. :param role: "rewrite", "answer" or both.
    :param more: other fields of :class:`Llm`, which override the file's.
    :raises InputError: if there is no such file, or a field is missing or malformed.
    """
    name = str(llm)
    if re.match(r"https?://", name, re.I):
        where, data = "--llm", {"url": name, "key": KEY}
    else:
        where = f"language model {name}"
        server = ", or the URL of a server with OpenAI's API, such as http://localhost:11434/v1"
        data = read_yaml(
            yaml_file(
                name,
                "--llm",
                "configs",
                "llms",
                alternative=server,
            ),
            "language model",
        )
    if not isinstance(data, dict) or not isinstance(data.get("url"), str):
        raise InputError(f"{where}: expected a mapping with url and model. {_ADVICE}")
    changes = {"model": model, "role": None if role is None else [*role], **more}
    data |= {field: value for field, value in changes.items() if value is not None}
    data["url"] = _server_url(data["url"], where)
    refuse_secrets(data, where)
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", str(data.get("key") or KEY)):
        # The value may be a key: it is not repeated.
        raise InputError(f"{where}: key: expected the name of an environment variable, such as OPENAI_API_KEY.")
    if not data.get("model"):
        raise InputError(f"{where}: missing model; add --llm-model NAME with the server's name for it.")
    return read_as(Llm, data, where, _ADVICE)


def _server_url(url: str, where: str) -> str:
    """Return the server's URL, with ``/v1`` if it has no path. Messages do not repeat it, as it may contain a key."""
    match = _SERVER.fullmatch(url)
    if not match:
        raise InputError(f"{where}: url: expected http://HOST:PORT/v1 or https://..., without login, ? and #.")
    has_path = (match["path"] or "").strip("/")
    return url.rstrip("/") if has_path else f"{match['server']}/v1"


def with_llm(nodes: Mapping[str, Node], llm: Llm) -> dict[str, Node]:
    """Return a pipeline's nodes with the model in its roles.

    The replaced component becomes the model's ``fallback``. If a rewriter or builder wraps another one, as
    ``small_talk`` does, the inner one is replaced. The decider ``threshold`` skips generated answers.

    :raises InputError: if the pipeline lacks a node for a role.
    """
    changed = dict(nodes)
    for role in llm.role:
        station, _ = _NODES[role]
        if station not in changed:
            raise InputError(f"missing {station} for the role {role!r} of --llm; choose another with --llm-role.")
        changed[station] = _with_role(role, changed[station], llm)
    decider = changed.get("decider")
    if decider is not None and "answer" in llm.role and decider.type.rpartition(".")[2].lower() == "threshold":
        changed["decider"] = decider.having(decide_generated=False)
    return changed


def _with_role(role: Role, node: Node, llm: Llm) -> Node:
    station, member = _NODES[role]
    wrapped = node.init_parameters.get(station)
    if wrapped is not None:
        type_name, parameters = described(wrapped, station, f"a {station}")
        inner = _with_role(role, Node(type=type_name, init_parameters=parameters), llm)
        return node.having(**{station: inner.flat()})
    kind = full_name(member, station, [station])
    made = Node(type=kind)
    if full_name(node.type, station, [station]) == kind:
        made = made.having(**node.init_parameters)
    elif llm.fallback:
        made = made.having(fallback=node.flat())
    return made.having(**llm.parameters(role))
