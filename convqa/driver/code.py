"""The code of components of other packages: digests of their source, or the version that is installed."""

from __future__ import annotations

import ast
import glob
import hashlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path

from convqa.places import is_installed, is_of_python

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


def classes_in(description: object) -> Iterator[type]:
    """The loaded classes that a description names by their dotted paths, at any depth."""
    if isinstance(description, str) and _DOTTED.fullmatch(description):
        module, _, name = description.rpartition(".")
        if inspect.isclass(made := getattr(sys.modules.get(module), name, None)):
            yield made
    elif isinstance(description, Mapping):
        yield from classes_in(list(description.values()))
    elif isinstance(description, list | tuple):
        for value in description:
            yield from classes_in(value)


def code_of(classes: Iterable[type]) -> dict[str, str | None]:
    """By the name of each class, what identifies the code of it and its base classes; None where that cannot be known.

    That is the version of an installed package; else the SHA-256 of every ``.py`` file under the top-level package or
    module, and the same of what these import; None for a class that no file holds, such as a notebook's. Convqa's and
    Python's code is left out.
    """
    found = {f"{cls.__module__}.{cls.__qualname__}": _parts(cls) for cls in classes}
    return {
        name: None if None in parts.values() else ", ".join(f"{part} {code}" for part, code in sorted(parts.items()))
        for name, parts in sorted(found.items())
        if parts
    }


def _parts(cls: type) -> dict[str, str | None]:
    """Top-level package or module, or a class that no file holds -> its code."""
    parts: dict[str, str | None] = {}
    waiting = []
    for base in cls.__mro__:
        top = base.__module__.partition(".")[0]
        if _places(top):
            waiting.append(top)
        elif top not in sys.builtin_module_names:
            parts[base.__qualname__] = None
    for top in waiting:  # grows by what is imported
        places = _places(top)
        if top in parts or top == "convqa" or all(map(is_of_python, places)):
            continue
        if names := all(map(is_installed, places)) and metadata.packages_distributions().get(top):
            parts[top] = " ".join(f"{name}=={metadata.version(name)}" for name in sorted(set(names)))
            continue
        sources = {str(file.relative_to(place.parent)): file.read_bytes() for place in places for file in _files(place)}
        parts[top] = _digest(repr(sorted(sources.items()))) if sources else None
        waiting += (name for name in _imported(sources.values()) if not all(map(is_installed, _places(name))))
    return parts


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _places(top: str) -> list[Path]:
    """The folders of a top-level package, or the file of a module; none where there is no file."""
    found = sys.modules.get(top) or importlib.util.find_spec(top)
    folders = getattr(found, "__path__", None) or getattr(found, "submodule_search_locations", None)
    file = getattr(found, "__file__", None) or getattr(found, "origin", None) or ""
    return [place.resolve() for place in map(Path, folders or [file]) if place.is_absolute() and place.exists()]


def _files(place: Path) -> list[Path]:
    # Unlike Path.rglob, glob goes through links to folders, as imports do.
    found = glob.glob("**/*.py", root_dir=place, recursive=True)
    return [place / name for name in found if (place / name).is_file()] if place.is_dir() else [place]


def _imported(sources: Iterable[bytes]) -> set[str]:
    """Top-level names of what modules import from elsewhere; what is no Python is passed over."""
    names = set()
    for source in sources:
        try:
            nodes = list(ast.walk(ast.parse(source)))
        except (SyntaxError, ValueError):
            continue
        names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0}
    return {name.partition(".")[0] for name in names}
