"""The environment variables that a pipeline reads, and the addresses that it contacts."""

from __future__ import annotations

import re

from convqa.pipeline.document import PipelineDocument
from convqa.validation import leaves

_ADDRESS = re.compile(r"(.*_)?(url|uri|hosts?|server|endpoint|address)", re.I)
"""Names of parameters that hold an address. Any text with ``://`` is also an address."""


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
