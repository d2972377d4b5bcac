"""The fingerprint of a run: everything that determines its results, with the code of other packages' components."""

from __future__ import annotations

import ast
import glob
import hashlib
import importlib.util
import inspect
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import convqa
from convqa.driver.history import HistoryMode
from convqa.pipeline.pipeline import Pipeline
from convqa.places import is_installed, is_of_python
from convqa.stores import open_store

SHAPING = ("tantivy", "PyStemmer", "sentencex", "numpy", "onnxruntime", "tokenizers")
"""Libraries whose versions may change results."""

SHAPING_TORCH = ("torch", "transformers")
"""Further libraries whose versions may change results if a model runs on torch."""

LIBRARIES = ("haystack-ai", *SHAPING, "pydantic", "orjson")

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


def fingerprint(
    task: str, digest: str, pipeline: Pipeline, history: HistoryMode, batch_size: int, limit: int | None
) -> dict[str, Any]:
    """Return the fingerprint of a run. Equal fingerprints give byte-identical run files.

    :param digest: the digest of the input.
    """
    models = pipeline.models
    classes = [*classes_in(pipeline.document.model_dump()["components"])]
    if pipeline.collection is not None:
        classes.append(type(open_store(pipeline.collection)))
    return {
        "convqa": convqa.__version__,
        "task": task,
        "input": digest,
        "pipeline": hashlib.sha256(pipeline.document.to_yaml().encode()).hexdigest(),
        "collection": None if pipeline.collection is None else _collection(pipeline.collection),
        "models": models,
        "code": code_of(classes),
        "history": history,
        "batch_size": batch_size,
        "limit": limit,
        "libraries": {name: metadata.version(name) for name in _shaping(models)},
    }


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the names of the entries in which two fingerprints differ, with one entry per class of ``code``."""

    def flat(mark: Mapping[str, Any]) -> dict[str, Any]:
        return {**mark, **{f"code of {name}": code for name, code in mark.get("code", {}).items()}}

    before, now = flat(old), flat(new)
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name) and name != "code"]
    # The input's digest covers only what was read, so it always differs with the limit.
    return [name for name in changed if name != "input" or "limit" not in changed]


def versions() -> dict[str, str]:
    """Return the versions of Python, convqa and the libraries that results depend on."""
    own = {"python": platform.python_version(), "convqa": convqa.__version__}
    return own | {library: metadata.version(library) for library in LIBRARIES}


def git_commit() -> str | None:
    """Return the commit of convqa's checkout, with ``-dirty`` if files differ; None outside a checkout."""
    folder = Path(convqa.__file__).resolve().parent.parent
    if not (folder / ".git").exists():
        return None
    try:
        result = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None


def _shaping(models: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """Return the libraries to record. A model's identity names its engine: ``checksum (torch float32 on cpu)``."""
    on_torch = any("(torch " in identity for station in models.values() for identity in station.values())
    return (*SHAPING, *SHAPING_TORCH) if on_torch else SHAPING


def _collection(url: str) -> dict[str, Any]:
    info = open_store(url).info()
    entries = {"engine": info.engine, "count": info.count, "checksum": info.checksum, "analyzer": info.analyzer}
    if info.k1 is not None:
        # Settings of the index, which may change while its passages stay the same.
        entries |= {"k1": info.k1, "b": info.b}
    if info.encoder is not None:
        entries |= {"encoder": asdict(info.encoder), "vectors": info.vectors}
    if info.vector_options is not None:
        # Quantization and approximate search change rankings.
        entries["vector_options"] = asdict(info.vector_options)
    return entries


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
