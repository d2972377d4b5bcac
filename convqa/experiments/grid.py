"""The file of an ablation: a base pipeline, axes and inputs, and the rows of the resulting grid."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field

from convqa.driver.history import HistoryMode
from convqa.errors import InputError
from convqa.pipeline.merge import resolve
from convqa.pipeline.read import find
from convqa.places import is_yaml, yaml_file
from convqa.safe_yaml import read_yaml
from convqa.validation import Record, Text, read_as, refuse_secrets, shorten

Conversations = Literal["all", "odd", "even"]
"""The conversations to run: all, or those with odd or even numbers, if settings were chosen on the others."""

INPUT = "{input}"
"""A placeholder for the folder of the input in values, such as ``{input}/questions-rewritten.json``."""

_UNSAFE_IN_NAMES = re.compile(r"[^\w.+=-]+")


class InputChoice(Record, extra="forbid"):
    """Settings of one input. ``history`` None: gold if the input has a history, otherwise none.

    ``qrels``: the file of judgments by which its rankings are scored, instead of its own truth.
    """

    history: HistoryMode | None = None
    conversations: Conversations = "all"
    collection: Text | None = None
    qrels: Text | None = None


class Ablation(Record, extra="forbid"):
    """The contents of an ablation file.

    ``axes``: name -> values. A name is a node (``rewriter``: its type) or a dotted parameter. Values are a list, or a
    mapping from names to settings. A setting ``STATION: null`` removes the station, as the value null of its axis does.
    ``baseline``: the name of the row to compare with, or its values by axis.
    """

    question: Text = ""
    pipeline: Text
    override: dict[str, Any] = {}
    axes: Annotated[dict[str, list[Any] | dict[str, Any]], Field(min_length=1)]
    baseline: dict[str, Any] | Text | None = None
    history: HistoryMode | None = None
    vectors: Text | None = None
    measures: list[Text] = []
    inputs: dict[str, InputChoice] = {}


class GridRow(Record):
    """A pipeline of the grid: the base with ``overrides``, of which None removes a node.

    ``values``: axis -> the name of its value.
    """

    name: str
    values: dict[str, str]
    overrides: dict[str, Any] = {}

    def settings(self, input_folder: Path) -> dict[str, Any]:
        """Return the overrides with ``{input}``, replaced by the folder's path."""
        return {
            name: value.replace(INPUT, str(input_folder))
            for name, value in self.overrides.items()
            if isinstance(value, str) and INPUT in value
        }

    def document(self, ablation: Ablation, file: Path) -> str:
        """Return the row's pipeline file, whose values with ``{input}`` :meth:`settings` overrides.

        It names the folders of the user's own modules: those of the base pipeline and of the ablation.
        """
        base = find(ablation.pipeline, file.parent)
        document = resolve(base, {**ablation.override, **self.overrides})
        text = document.to_yaml()
        if document.modules:
            files = (base, file) if is_yaml(ablation.pipeline) else (file,)
            folders = dict.fromkeys(str(path.resolve().parent) for path in files)
            text += yaml.safe_dump({"python_path": list(folders)}, allow_unicode=True)
        return text


def read_ablation(name: str) -> tuple[Ablation, Path]:
    """Read an ablation, given the path of its file or a name in ``configs/ablations``. Return it and the file.

    :raises InputError: naming the file and the field.
    """
    file = yaml_file(name, "ablation", "configs", "ablations")
    data = read_yaml(file, "ablation")
    where = f"ablation {file}"
    ablation = read_as(
        Ablation,
        data,
        where,
        f"Fields: {', '.join(Ablation.model_fields)}.",
    )
    refuse_secrets(data, where)
    return ablation, file


def rows_of(ablation: Ablation) -> list[GridRow]:
    """Return the rows of the grid, with unique names.

    :raises InputError: for an axis without values, and malformed values or rows.
    """
    axes = [_values(axis, values) for axis, values in ablation.axes.items()]
    rows: dict[str, GridRow] = {}
    for values in itertools.product(*axes):
        by_axis = dict(zip(ablation.axes, values, strict=True))
        row = _row(by_axis)
        if row.name in rows:
            raise InputError(f"two rows are called {row.name}. Their folders need different names.")
        rows[row.name] = row
    return list(rows.values())


def baseline_of(ablation: Ablation, rows: list[GridRow]) -> GridRow:
    """Return the first row with the name or the values of ``baseline``.

    :raises InputError: if there is none.
    """
    baseline = ablation.baseline or {}
    for row in rows:
        has_values = isinstance(baseline, dict) and baseline.items() <= row.values.items()
        if has_values or row.name == baseline:
            return row
    names = ", ".join(row.name for row in rows[:6])
    raise InputError(f"baseline {shorten(baseline)}: unknown row; expected one of {names} ...")


def _values(axis: str, values: list[Any] | dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the name and the settings of each value of an axis."""
    if not values:
        raise InputError(f"axes.{axis}: expected one or more values, got none.")
    if isinstance(values, list):
        listed = []
        for value in values:
            setting = axis if "." in axis or value is None else f"{axis}.type"
            name = value if isinstance(value, str) else yaml.safe_dump(value).splitlines()[0]
            listed.append((name, {setting: value}))
        return listed
    named = []
    for name, settings in values.items():
        if not isinstance(settings, dict | None):
            raise InputError(f"axes.{axis}.{name}: expected {{STATION.PARAMETER: VALUE}}, got {shorten(settings)}.")
        named.append((name, settings or {}))
    return named


def _row(values: Mapping[str, tuple[str, dict[str, Any]]]) -> GridRow:
    """Return the row with these values, by axis."""
    overrides: dict[str, Any] = {}
    names: dict[str, str] = {}
    for axis, (name, settings) in values.items():
        names[axis] = name
        overrides |= settings
    folder = "+".join(map(_file_name, names.values()))
    return GridRow(
        name=folder,
        values=names,
        overrides=overrides,
    )


def _file_name(name: str) -> str:
    """Return a name that is valid for a folder.

    >>> _file_name("BM25, k1 = 0.9/b")
    'BM25_k1_=_0.9_b'
    """
    return _UNSAFE_IN_NAMES.sub("_", name).strip(".") or "_"
