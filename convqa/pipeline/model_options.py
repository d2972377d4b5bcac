"""``--device`` and ``--precision``: the default options of a pipeline's models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convqa.components.base import Station
from convqa.components.encoding import ModelOptions
from convqa.components.members import import_type
from convqa.pipeline.document import Document, Node


def with_options(document: Document, options: ModelOptions) -> Document:
    """Return the pipeline with these options in every station with a parameter ``options``, nested stations too.

    Options that the pipeline sets itself take precedence.
    """
    components = {name: Node(**_set(node.model_dump(), options, name)) for name, node in document.components.items()}
    return document.model_copy(update={"components": components})


def _set(node: Mapping[str, Any], options: ModelOptions, name: str) -> dict[str, Any]:
    parameters = {
        key: _set(value, options, name) if isinstance(value, dict) and {"type", "init_parameters"} == set(value)
        else value
        for key, value in node["init_parameters"].items()
    }  # fmt: skip
    if "options" in parameters and issubclass(import_type(node["type"], name), Station):
        parameters["options"] = {**options, **(parameters["options"] or {})}
    return {"type": node["type"], "init_parameters": parameters}
