"""Entry points, by which other packages add stores and tasks without an edit of convqa."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from convqa.errors import InputError


def plugins(group: str) -> dict[str, EntryPoint]:
    """Return what the installed packages offer in a group (``convqa.stores``), by name. Nothing is imported yet."""
    return {point.name: point for point in entry_points(group=group)}


def load(point: EntryPoint) -> Any:
    """Import what an entry point names.

    :raises InputError: with the package and the reason, if that fails.
    """
    try:
        return point.load()
    except Exception as error:
        package = point.dist.name if point.dist else "a package"
        raise InputError(
            f"{point.name}: {package} offers it in the group {point.group} as {point.value}, which cannot be loaded "
            f"({type(error).__name__}: {error}). Fix that package or uninstall it."
        ) from error
