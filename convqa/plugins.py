"""Entry points, through which other packages add stores, tasks and languages."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from convqa.errors import InputError


def plugins(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group (``convqa.stores``) by name, without importing them."""
    return {point.name: point for point in entry_points(group=group)}


def load(point: EntryPoint) -> Any:
    """Import the object of an entry point.

    :raises InputError: naming the package and the reason if that fails.
    """
    try:
        return point.load()
    except Exception as error:
        package = point.dist.name if point.dist else "a package"
        raise InputError(
            f"{point.name}: the entry point {point.value} of {package} in the group {point.group} cannot be loaded "
            f"({type(error).__name__}: {error}). Fix or uninstall that package."
        ) from error
