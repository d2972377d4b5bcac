"""The new names of parameters that had another name in an earlier version."""

from __future__ import annotations

from collections.abc import Mapping

RENAMED: Mapping[str, Mapping[str, str]] = {}
"""A member, as ``builders.sentences`` -> old name -> new name. The error for an unknown parameter gives the new one."""
