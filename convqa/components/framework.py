"""Haystack, imported without torch (1.7 s and 650 MB) and posthog, its telemetry.

Placeholders for these import the package when one of its names is used.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _Deferred(ModuleType):
    """A placeholder for a package until one of its names is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def _deferred(*names: str) -> Iterator[None]:
    for name in names:
        if name not in sys.modules and (spec := find_spec(name)) is not None:
            sys.modules[name] = _Deferred(name)
            sys.modules[name].__spec__ = spec
    try:
        yield
    finally:
        for name in names:
            if isinstance(sys.modules.get(name), _Deferred):
                del sys.modules[name]


with _deferred("torch", "posthog", "httpx"):
    from haystack import Pipeline as Pipeline
    from haystack import component as component
    from haystack.core.errors import PipelineError as PipelineError
    from haystack.core.serialization import allow_deserialization_module as allow_deserialization_module
    from haystack.core.serialization import component_from_dict as component_from_dict
    from haystack.core.serialization import component_to_dict as component_to_dict
