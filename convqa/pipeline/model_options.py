"""``--device`` and ``--precision``: how all models of a pipeline run that do not say so themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convqa.components.base import Station
from convqa.components.encoding import ModelOptions
from convqa.components.members import import_type
from convqa.pipeline.document import Document, Node


def with_options(document: Document, options: ModelOptions) -> Document:
    """The same complete pipeline, in which every station's model has these options, but for those that it names.

    A station takes them that has the parameter ``options``; those that another holds are among them.
    """
    components = {name: Node(**_given(node.model_dump(), options, name)) for name, node in document.components.items()}
    return document.model_copy(update={"components": components})


def _given(described: Mapping[str, Any], options: ModelOptions, place: str) -> dict[str, Any]:
    parameters = {
        name: _given(value, options, place) if isinstance(value, dict) and {"type", "init_parameters"} == set(value)
        else value
        for name, value in described["init_parameters"].items()
    }  # fmt: skip
    if "options" in parameters and issubclass(import_type(described["type"], place), Station):
        parameters["options"] = {**options, **(parameters["options"] or {})}
    return {"type": described["type"], "init_parameters": parameters}
