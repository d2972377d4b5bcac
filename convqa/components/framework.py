"""Haystack, imported without two packages that convqa does not need.

``import haystack`` loads torch where it is installed, to name devices (1.7 s and 650 MB), and posthog for a telemetry
that convqa switches off. Here Haystack gets a stand-in for each, which imports the package when a name of it is used.
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
    """Stands for a package until one of its names is used."""

    def __getattr__(self, name: str) -> Any:
        self.withdraw()
        return getattr(importlib.import_module(self.__name__), name)

    def withdraw(self) -> None:
        """Let whoever imports the package from now on have the package itself."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]


@contextmanager
def _deferred(*names: str) -> Iterator[None]:
    stand_ins = []
    for name in names:
        if name not in sys.modules and (spec := find_spec(name)) is not None:
            sys.modules[name] = stand_in = _Deferred(name)
            stand_in.__spec__ = spec
            stand_ins.append(stand_in)
    try:
        yield
    finally:
        for stand_in in stand_ins:
            stand_in.withdraw()


with _deferred("torch", "posthog"):
    from haystack import Pipeline, component
    from haystack.core.errors import PipelineConnectError, PipelineError
    from haystack.core.serialization import allow_deserialization_module, component_from_dict, component_to_dict

__all__ = [
    "Pipeline",
    "PipelineConnectError",
    "PipelineError",
    "allow_deserialization_module",
    "component",
    "component_from_dict",
    "component_to_dict",
]
