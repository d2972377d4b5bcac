"""Entry points, through which other packages add parts."""

from __future__ import annotations

import logging
import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from convqa.errors import InputError

log = logging.getLogger("convqa")


def plugins(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group (``convqa.stores``) by name, without importing them."""
    return {point.name: point for point in _entry_points(tuple(sys.path)).select(group=group)}


@lru_cache(maxsize=1)
def _entry_points(path: tuple[str, ...]) -> Any:  # noqa: ARG001 - where packages are looked for
    """Return the entry points of all packages. Reading them takes several milliseconds."""
    return entry_points()


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


def load_all(group: str) -> dict[str, Any]:
    """Return the objects of a group by name. One that cannot be loaded is left out with a warning."""
    objects = {}
    for name, point in plugins(group).items():
        try:
            objects[name] = load(point)
        except InputError as error:
            log.warning("left out: %s", error)
    return objects
