"""Which modules a pipeline may name: components of convqa and Haystack, and those that the environment allows."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

ALLOWLIST = "HAYSTACK_DESERIALIZATION_ALLOWLIST"
"""Haystack's own variable: comma-separated modules of yours that a pipeline may name."""

_TRUSTED = ("convqa.components", "haystack", "haystack_integrations")


def refusal(module: str) -> str:
    """Why a pipeline may not name this module, and what to do; "" if it may.

    >>> refusal("haystack.components.rankers")
    ''
    >>> refusal("os")[:33]
    "the module 'os' is not allowed. A"
    """
    patterns = [pattern.strip() for pattern in os.environ.get(ALLOWLIST, "").split(",") if pattern.strip()]
    for pattern in [*_TRUSTED, *patterns]:
        prefix = pattern.removesuffix(".*")
        if module == prefix or module.startswith(prefix + ".") or fnmatchcase(module, pattern):
            return ""
    return (
        f"the module {module!r} is not allowed. A pipeline may name components of {', '.join(_TRUSTED)}; if you trust "
        f"this one, name it in the environment: {ALLOWLIST}={module}."
    )
