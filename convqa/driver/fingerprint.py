"""The fingerprint of a run: everything that determines its results."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import convqa
from convqa.driver.code import classes_in, code_of
from convqa.driver.history import HistoryMode
from convqa.pipeline.load import Pipeline
from convqa.stores import open_store

SHAPING = ("tantivy", "PyStemmer", "sentencex", "numpy", "onnxruntime", "tokenizers")
"""Libraries whose versions may change results."""

SHAPING_TORCH = ("torch", "transformers")
"""Further libraries whose versions may change results if a model runs on torch."""

LIBRARIES = ("haystack-ai", *SHAPING, "pydantic", "orjson")


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
