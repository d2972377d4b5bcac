"""Loads a pipeline: its file is read and merged, then built."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from convqa.components.encoding import ModelOptions
from convqa.pipeline.build import build
from convqa.pipeline.llm import Llm
from convqa.pipeline.merge import resolve
from convqa.pipeline.pipeline import Pipeline


def load(
    pipeline: str | Path,
    settings: Mapping[str, Any] | None = None,
    llm: Llm | None = None,
    options: ModelOptions | None = None,
    *,
    trusted: bool = True,
) -> Pipeline:
    """Load a pipeline, given a shipped name or a path.

    :param settings: as ``--set``: ``station.parameter``, ``station.type`` or ``station`` -> value.
    :param llm: rewrites questions or writes answers.
    :param options: how its models run, unless the pipeline says so.
    :param trusted: whether a file, given by its path, may load the modules that it and the settings name.
    :raises InputError: naming file, station and parameter.
    """
    return build(resolve(pipeline, settings, llm, trusted=trusted), str(pipeline), options)
