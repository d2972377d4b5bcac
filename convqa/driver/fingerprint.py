"""The fingerprint of a run: input, pipeline, collection, models and the settings that shape results."""

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
"""The same, where a model of the pipeline runs on torch."""

LIBRARIES = ("haystack-ai", *SHAPING, "pydantic", "orjson")


def fingerprint(
    task: str, digest: str, pipeline: Pipeline, history: HistoryMode, batch_size: int, limit: int | None
) -> dict[str, Any]:
    """Equal fingerprints give byte-identical run files; a journal of another fingerprint is not continued.

    :param digest: of the input.
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
    """Names of the entries in which two fingerprints differ; of the code, the classes whose own does."""

    def flat(mark: Mapping[str, Any]) -> dict[str, Any]:
        return {**mark, **{f"code of {name}": code for name, code in mark.get("code", {}).items()}}

    before, now = flat(old), flat(new)
    changed = [name for name in {**before, **now} if before.get(name) != now.get(name) and name != "code"]
    # The digest is of what was read of the input: with another limit it differs in any case.
    return [name for name in changed if name != "input" or "limit" not in changed]


def versions() -> dict[str, str]:
    """Versions of Python, convqa and the libraries that results rest on."""
    own = {"python": platform.python_version(), "convqa": convqa.__version__}
    return own | {library: metadata.version(library) for library in LIBRARIES}


def git_commit() -> str | None:
    """The commit of the checkout that convqa runs from, with ``-dirty`` where files differ; None outside one."""
    folder = Path(convqa.__file__).resolve().parent.parent
    if not (folder / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _shaping(models: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """The libraries whose versions count; a model's identity says what runs it: ``checksum (torch float32 on cpu)``."""
    on_torch = any("(torch " in identity for station in models.values() for identity in station.values())
    return (*SHAPING, *SHAPING_TORCH) if on_torch else SHAPING


def _collection(url: str) -> dict[str, Any]:
    info = open_store(url).info()
    found = {"engine": info.engine, "count": info.count, "checksum": info.checksum, "analyzer": info.analyzer}
    if info.k1 is not None:
        # The index's own, which may change while its passages stay.
        found |= {"k1": info.k1, "b": info.b}
    if info.encoder is not None:
        found |= {"encoder": asdict(info.encoder), "vectors": info.vectors}
    if info.vector_options is not None:
        # The same vectors rank otherwise when they are kept in fewer bits, or a graph is walked.
        found["vector_options"] = asdict(info.vector_options)
    return found
