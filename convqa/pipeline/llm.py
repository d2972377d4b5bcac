"""A language model by one name: read it, and let a pipeline's questions be rewritten and its answers written by it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from convqa.errors import InputError, nearest
from convqa.pipeline.document import Document, Node
from convqa.pipeline.nodes import type_of
from convqa.places import shipped
from convqa.safe_yaml import read_yaml
from convqa.validation import Record, read_as, refuse_secrets

KEY = "CONVQA_LLM_KEY"
"""The environment variable whose key goes to a server that is named by its URL, and to no other."""

REWRITING_SECONDS = 30.0
"""The most that a rewritten question, one line, is waited for."""

Role = Literal["rewrite", "answer"]
_NODES: dict[Role, tuple[str, str]] = {"rewrite": ("rewriter", "llm"), "answer": ("builder", "generative")}
"""By role: the pipeline's node, and the member that takes its place."""

_ADVICE = "See docs/reference/generating.md and the files of configs/llms."


class Llm(Record, extra="forbid"):
    """A file of ``configs/llms``: a server of OpenAI's API, its model, and what it does in a pipeline.

    :param key: the environment variable that holds its key; without one it is sent none.
    :param generation: parameters of every request, such as ``temperature``.
    :param fallback: whether the pipeline's own rewriter and builder stand in where the model does not do its part. If
        not, a server that is away stops the work.
    """

    url: str
    model: Annotated[str, Field(min_length=1)]
    key: str | None = None
    role: Annotated[list[Role], Field(min_length=1)] = ["rewrite", "answer"]
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 60.0
    retries: Annotated[int, Field(ge=0)] = 2
    concurrency: Annotated[int, Field(ge=1, le=64)] = 4
    generation: dict[str, Any] = {}
    support: Annotated[str, Field(min_length=1)] = "lexical"
    fallback: bool = True

    def parameters(self, role: Role) -> dict[str, Any]:
        """The parameters of the member that has this role."""
        secret = self.key and {"type": "env_var", "env_vars": [self.key], "strict": self.key != KEY}
        generator = {
            "model": self.model, "api_base_url": self.url, "api_key": secret, "generation_kwargs": self.generation,
            "timeout": min(self.timeout, REWRITING_SECONDS) if role == "rewrite" and self.fallback else self.timeout,
            # Somebody waits: what takes the model's place is better than a second try.
            "max_retries": 0 if self.fallback else self.retries,
        }  # fmt: skip
        component = {"type": "convqa.components.chat_server.ChatServer", "init_parameters": generator}
        made = {"component": component, "concurrency": self.concurrency, "keep": not self.fallback}
        return made | {"support": self.support} if role == "answer" else made


def shipped_llms() -> list[str]:
    """The names of the files in ``configs/llms``."""
    return sorted(path.stem for path in shipped("configs", "llms").glob("*.yaml"))


def read_llm(llm: str | Path, model: str | None = None, role: Sequence[str] | None = None, **more: Any) -> Llm:
    """A language model by its server's URL, by a name of ``configs/llms``, or by the path of such a file.

    :param model: the model's name on that server; the file may name one. :param role: "rewrite", "answer" or both.
    :param more: other fields of :class:`Llm`, in the place of the file's.
    :raises InputError: if there is no such file, or a field is missing or wrong.
    """
    name, known = str(llm), shipped_llms()
    if re.match(r"https?://", name, re.I):
        where, data = "--llm", {"url": name, "key": KEY}
    elif name in known or name.endswith((".yaml", ".yml")):
        where = f"language model {name}"
        data = read_yaml(shipped("configs", "llms", f"{name}.yaml") if name in known else Path(name), "language model")
    else:
        raise InputError(
            f"--llm: {name!r} is not known.{nearest(name, known)} Wanted: the URL of a server of OpenAI's API, such as "
            f"http://localhost:11434/v1, one of {', '.join(known)}, or the path of a YAML file."
        )
    if not isinstance(data, dict) or not isinstance(data.get("url"), str):
        raise InputError(f"{where}: wanted a mapping with url and model. {_ADVICE}")
    given = {"model": model, "role": None if role is None else [*role], **more}
    data |= {field: value for field, value in given.items() if value is not None}
    data["url"] = _address(data["url"], where)
    refuse_secrets(data, where)
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", str(data.get("key") or KEY)):
        # Perhaps a key itself: it is not repeated.
        raise InputError(f"{where}: key: wanted is the name of an environment variable, such as OPENAI_API_KEY.")
    if not data.get("model"):
        raise InputError(f"{where}: no model is named; wanted: --llm-model NAME, as the server calls it.")
    return read_as(Llm, data, where, _ADVICE)


def _address(url: str, where: str) -> str:
    """The server's address, with ``/v1`` where it has no path. What is refused is not repeated: it may hold a key."""
    found = re.fullmatch(r"(https?://[\w.-]+(?::\d{1,5})?|https?://\[[\da-f:]+\](?::\d{1,5})?)(/[^?#]*)?", url, re.I)
    if not found:
        raise InputError(f"{where}: url: wanted is http://HOST:PORT/v1 or https://..., without login, ? and #.")
    return url.rstrip("/") if (found[2] or "").strip("/") else f"{found[1]}/v1"


def with_llm(document: Document, llm: Llm) -> Document:
    """The same pipeline, with the model in its roles.

    What it takes the place of becomes its ``otherwise``, so that a question is still answered where the model does not
    do its part. A rewriter or builder that holds another, such as ``small_talk``, stays, and the other one is changed.
    A decision, which was fitted to sentences of passages, is made on no others.

    :raises InputError: if the pipeline lacks a node for a role.
    """
    components = dict(document.components)
    for role in llm.role:
        name, _ = _NODES[role]
        if name not in components:
            raise InputError(f"there is no node {name!r} for the role {role!r} of --llm; name another: --llm-role.")
        components[name] = _given_to(role, components[name], llm)
    decider = components.get("decider", Node(type="none"))
    if "answer" in llm.role and decider.type.rpartition(".")[2].lower() == "logistic":
        components["decider"] = Node(type=decider.type, init_parameters=decider.init_parameters | {"generated": False})
    return document.model_copy(update={"components": components})


def _given_to(role: Role, node: Node, llm: Llm) -> Node:
    station, member = _NODES[role]
    if (held := node.init_parameters.get(station)) is not None:
        inner = _given_to(role, Node(type=held) if isinstance(held, str) else Node.model_validate(held), llm)
        return Node(type=node.type, init_parameters=node.init_parameters | {station: inner.model_dump()})
    kind, before = type_of(station, member), {"otherwise": node.model_dump()} if llm.fallback else {}
    if type_of(station, node.type) == kind:
        before = node.init_parameters
    return Node(type=kind, init_parameters=before | llm.parameters(role))
