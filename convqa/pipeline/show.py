"""A pipeline as text, and the addresses that it contacts."""

from __future__ import annotations

import re

from convqa.pipeline.document import PipelineDocument, node_of
from convqa.validation import leaves

_ADDRESS = re.compile(r"(.*_)?(url|uri|hosts?|server|endpoint|address)", re.I)
"""Names of parameters that hold an address. Any text with ``://`` is also an address."""


def as_text(document: PipelineDocument) -> str:
    """Return the nodes in topological order, each with its parameters and its senders."""
    feeds: dict[str, list[str]] = {name: [] for name in document.components}
    for label, receivers in document.inputs.items():
        for receiver in receivers:
            feeds[node_of(receiver)].append(label)
    for arrow in document.connections:
        feeds[node_of(arrow.receiver)].append(arrow.sender)
    lines = []
    for name in document.in_order():
        node = document.components[name]
        settings = [f"{key}={value!r}" for key, value in sorted(node.init_parameters.items())]
        senders = sorted(feeds[name])
        lines.append(f"{name}: {node.type}")
        lines.append(f"    {', '.join(settings) or 'defaults'}")
        lines.append(f"    <- {', '.join(senders) or 'nothing'}")
    lines += [f"{label} = {sender}" for label, sender in sorted(document.outputs.items())]
    return "\n".join(lines)


def reached(document: PipelineDocument) -> list[str]:
    """Return lines with the environment variables and addresses in the parameters, and the user's modules."""
    variables: list[str] = []
    addresses: list[str] = []
    for key, value in leaves([node.init_parameters for node in document.components.values()]):
        if key == "env_vars":
            variables.append(str(value))
        elif isinstance(value, str) and ("://" in value or (value and _ADDRESS.fullmatch(key))):
            addresses.append(value)
    lists = {
        "reads from the environment": variables,
        "sends to": addresses,
        "runs": document.modules,
    }
    return [f"{title}: {', '.join(dict.fromkeys(names))}" for title, names in lists.items() if names]
