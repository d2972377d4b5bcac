"""A pipeline's graph as text and as mermaid, made here (Haystack's own drawing needs a server), and what it reaches."""

from __future__ import annotations

import re

from convqa.pipeline.document import Document

_ADDRESS = re.compile(r"(.*_)?(url|uri|hosts?|server|endpoint|address)", re.I)
"""Names of parameters that hold an address; any text with ``://`` is one, too."""


def as_text(document: Document) -> str:
    """Nodes in the order of their work, each with its parameters and where its inputs come from."""
    feeds: dict[str, list[str]] = {name: [] for name in document.components}
    for label, receivers in document.inputs.items():
        for receiver in receivers:
            feeds[receiver.partition(".")[0]].append(label)
    for arrow in document.connections:
        feeds[arrow.receiver.partition(".")[0]].append(arrow.sender)
    lines = []
    for name in document.in_order():
        node = document.components[name]
        settings = ", ".join(f"{key}={value!r}" for key, value in sorted(node.init_parameters.items()))
        lines += [
            f"{name}: {node.type}",
            f"    {settings or 'defaults'}",
            f"    <- {', '.join(sorted(feeds[name])) or 'nothing'}",
        ]
    lines += [f"{label} = {sender}" for label, sender in sorted(document.outputs.items())]
    return "\n".join(lines)


def as_mermaid(document: Document) -> str:
    """The graph in mermaid's language, for a README or a notebook."""
    lines = ["flowchart LR"]
    lines += [
        f'    {name}["{name}<br/><i>{document.components[name].type.rpartition(".")[2]}</i>"]'
        for name in document.in_order()
    ]
    for label, receivers in sorted(document.inputs.items()):
        lines += [f"    {label}([{label}]) --> {receiver.partition('.')[0]}" for receiver in sorted(receivers)]
    for arrow in sorted(document.connections, key=lambda arrow: (arrow.sender, arrow.receiver)):
        sender, _, socket = arrow.sender.partition(".")
        lines.append(f"    {sender} -- {socket} --> {arrow.receiver.partition('.')[0]}")
    lines += [
        f"    {sender.partition('.')[0]} --> out_{label}([{label}])"
        for label, sender in sorted(document.outputs.items())
    ]
    return "\n".join(lines)


def reached(document: Document) -> list[str]:
    """The environment variables and addresses that the parameters name, as lines of text."""
    variables: list[str] = []
    addresses: list[str] = []
    for node in document.components.values():
        _collect(node.init_parameters, "", variables, addresses)
    found = {"reads from the environment": variables, "sends to": addresses}
    return [f"{what}: {', '.join(dict.fromkeys(names))}" for what, names in found.items() if names]


def _collect(value: object, parameter: str, variables: list[str], addresses: list[str]) -> None:
    if isinstance(value, dict):
        if value.get("type") == "env_var":
            variables += map(str, value.get("env_vars") or ())
        for name, inner in value.items():
            _collect(inner, str(name), variables, addresses)
    elif isinstance(value, list | tuple):
        for inner in value:
            _collect(inner, parameter, variables, addresses)
    elif isinstance(value, str) and ("://" in value or (value and _ADDRESS.fullmatch(parameter))):
        addresses.append(value)
