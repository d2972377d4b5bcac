"""Haystack, imported without torch and posthog.

Haystack 3.4 imports both at the top of its modules. Measured in processor seconds of this import: 1.2 without them, 1.5
with posthog (telemetry, which is off), 5 with torch, where it is installed.
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
    """A placeholder for a package, which is imported when one of its names is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def _deferred(*names: str) -> Iterator[None]:
    for name in names:
        spec = find_spec(name) if name not in sys.modules else None
        if spec is not None:
            sys.modules[name] = _Deferred(name)
            sys.modules[name].__spec__ = spec
    try:
        yield
    finally:
        for name in names:
            if isinstance(sys.modules.get(name), _Deferred):
                del sys.modules[name]


with _deferred("torch", "posthog"):
    from haystack import Pipeline as Pipeline
    from haystack import component as component
    from haystack.core.errors import PipelineError as PipelineError
    from haystack.core.serialization import allow_deserialization_module as allow_deserialization_module
    from haystack.core.serialization import component_from_dict as component_from_dict
    from haystack.core.serialization import component_to_dict as component_to_dict
