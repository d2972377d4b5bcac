"""The fingerprint of a run: everything that determines its results, with the code of other packages' components."""

from __future__ import annotations

import hashlib
import inspect
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import convqa
from convqa.pipeline.pipeline import Pipeline
from convqa.places import is_installed
from convqa.stores import open_store
from convqa.stores.base import Info
from convqa.validation import leaves

SHAPING = ("PyStemmer", "sentencex", "numpy", "onnxruntime", "tokenizers")
"""Libraries whose versions may change results."""

SHAPING_TORCH = ("torch", "transformers")
"""Further libraries whose versions may change results if a model runs on torch."""

LIBRARIES = ("haystack-ai", *SHAPING, "pydantic", "orjson")


def fingerprint(pipeline: Pipeline, **settings: Any) -> dict[str, Any]:
    """Return the fingerprint of a run. Equal fingerprints give byte-identical run files.

    :param settings: further entries: the task, the digest of the input, history, batch size and limit.
    """
    models = pipeline.models
    classes = list(classes_in(pipeline.document.model_dump()["components"]))
    collection = None
    if pipeline.collection is not None:
        store = open_store(pipeline.collection)
        classes.append(type(store))
        collection = _collection(store.info())
    return {
        "convqa": convqa.__version__,
        "pipeline": hashlib.sha256(pipeline.document.to_yaml().encode()).hexdigest(),
        "collection": collection,
        "models": models,
        "code": code_of(classes),
        "libraries": {name: metadata.version(name) for name in _shaping(models)},
        **settings,
    }


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the names of the entries in which two fingerprints differ, with one entry per class of ``code``."""
    before, now = _flat(old), _flat(new)
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if "limit" in changed and "input" in changed:
        # The input's digest covers only what was read, so it always differs with the limit.
        changed.remove("input")
    return changed


def _flat(mark: Mapping[str, Any]) -> dict[str, Any]:
    entries = dict(mark)
    for name, code in entries.pop("code", {}).items():
        # Code without a file, such as a notebook's, may have changed: it equals nothing.
        entries[f"code of {name}"] = object() if code is None else code
    return entries


def versions() -> dict[str, str]:
    """Return the versions of Python, convqa and the libraries that results depend on."""
    libraries = {library: metadata.version(library) for library in LIBRARIES}
    return {"python": platform.python_version(), "convqa": convqa.__version__, **libraries}


def git_commit() -> str | None:
    """Return the commit of convqa's checkout, with ``-dirty`` if files differ; None outside a checkout."""
    folder = Path(convqa.__file__).resolve().parent.parent
    if not (folder / ".git").exists():
        return None
    try:
        result = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None


def _shaping(models: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """Return the libraries to record. A model's identity names its engine: ``checksum (torch float32 on cpu)``."""
    identities = [identity for station in models.values() for identity in station.values()]
    if any("(torch " in identity for identity in identities):
        return (*SHAPING, *SHAPING_TORCH)
    return SHAPING


def _collection(info: Info) -> dict[str, Any]:
    """Return what a collection holds, and the settings of its index that rankings depend on."""
    others = {"language", "fields", "capabilities", "source"}
    return {name: value for name, value in asdict(info).items() if value is not None and name not in others}


def classes_in(description: object) -> Iterator[type]:
    """Yield the loaded classes whose dotted paths occur in a description, at any depth."""
    for _, value in leaves(description):
        if isinstance(value, str):
            module, _, name = value.rpartition(".")
            attribute = getattr(sys.modules.get(module), name, None)
            if inspect.isclass(attribute):
                yield attribute


def code_of(classes: Iterable[type]) -> dict[str, str | None]:
    """Return class name -> identity of its code. The code of convqa and Python is left out.

    The identity is name and version of an installed package, else the SHA-256 of the module's file. It is None for a
    class without a file, such as a notebook's.
    """
    code: dict[str, str | None] = {}
    for cls in classes:
        top = cls.__module__.partition(".")[0]
        if top != "convqa" and top not in sys.stdlib_module_names:
            code[f"{cls.__module__}.{cls.__qualname__}"] = _identity(cls.__module__)
    return dict(sorted(code.items()))


def _identity(module: str) -> str | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return None
    path = Path(file).resolve()
    if is_installed(path):
        packages = metadata.packages_distributions().get(module.partition(".")[0], [])
        if packages:
            return " ".join(f"{name}=={metadata.version(name)}" for name in sorted(set(packages)))
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}" if path.is_file() else None
