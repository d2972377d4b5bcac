"""Identify the code of components from other packages, by version or digest."""

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
    """Yield the loaded classes whose dotted paths occur in a description, at any depth."""
    if isinstance(description, str) and _DOTTED.fullmatch(description):
        module, _, name = description.rpartition(".")
        if inspect.isclass(cls := getattr(sys.modules.get(module), name, None)):
            yield cls
    elif isinstance(description, Mapping):
        yield from classes_in(list(description.values()))
    elif isinstance(description, list | tuple):
        for value in description:
            yield from classes_in(value)


def code_of(classes: Iterable[type]) -> dict[str, str | None]:
    """Return class name -> identity of its code and that of its base classes.

    The identity is the version of an installed package, else the SHA-256 of all ``.py`` files of the top-level package
    or module and of its own imports. It is None for a class without a file, such as a notebook's. The code of convqa
    and Python is left out.
    """
    code_by_class = {f"{cls.__module__}.{cls.__qualname__}": _parts(cls) for cls in classes}
    return {
        name: None if None in parts.values() else ", ".join(f"{part} {code}" for part, code in sorted(parts.items()))
        for name, parts in sorted(code_by_class.items())
        if parts
    }


def _parts(cls: type) -> dict[str, str | None]:
    """Return top-level package or module, or class without a file -> identity of its code."""
    parts: dict[str, str | None] = {}
    waiting = []
    for base in cls.__mro__:
        top = base.__module__.partition(".")[0]
        if _places(top):
            waiting.append(top)
        elif top not in sys.builtin_module_names:
            parts[base.__qualname__] = None
    for top in waiting:  # grows by the imports
        places = _places(top)
        if top in parts or top == "convqa" or all(map(is_of_python, places)):
            continue
        if names := all(map(is_installed, places)) and metadata.packages_distributions().get(top):
            parts[top] = " ".join(f"{name}=={metadata.version(name)}" for name in sorted(set(names)))
            continue
        sources = {str(file.relative_to(place.parent)): file.read_bytes() for place in places for file in _files(place)}
        digest = hashlib.sha256(repr(sorted(sources.items())).encode()).hexdigest()
        parts[top] = f"sha256:{digest}" if sources else None
        waiting += (name for name in _imported(sources.values()) if not all(map(is_installed, _places(name))))
    return parts


def _places(top: str) -> list[Path]:
    """Return the folders of a top-level package or the file of a module; nothing for a module without a file."""
    module = sys.modules.get(top) or importlib.util.find_spec(top)
    folders = getattr(module, "__path__", None) or getattr(module, "submodule_search_locations", None)
    file = getattr(module, "__file__", None) or getattr(module, "origin", None) or ""
    return [path.resolve() for path in map(Path, folders or [file]) if path.is_absolute() and path.exists()]


def _files(place: Path) -> list[Path]:
    if not place.is_dir():
        return [place]
    # Unlike Path.rglob, glob follows links to folders, as imports do.
    return [path for name in glob.glob("**/*.py", root_dir=place, recursive=True) if (path := place / name).is_file()]


def _imported(sources: Iterable[bytes]) -> set[str]:
    """Return the top-level names that modules import. Invalid Python is skipped."""
    names = set()
    for source in sources:
        try:
            nodes = list(ast.walk(ast.parse(source)))
        except (SyntaxError, ValueError):
            continue
        names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0}
    return {name.partition(".")[0] for name in names}
