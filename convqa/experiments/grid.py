"""The file of an ablation: a base pipeline, axes and inputs, and the rows of the resulting grid."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field

from convqa.driver.history import HistoryMode
from convqa.errors import InputError
from convqa.pipeline.merge import resolve
from convqa.pipeline.read import find
from convqa.places import yaml_file
from convqa.safe_yaml import read_yaml
from convqa.validation import Record, Text, read_as, refuse_secrets, shorten

Part = Literal["all", "odd", "even"]
"""The conversations to run: all, or those with odd or even numbers, if settings were chosen on the others."""

INPUT = "{input}"
"""A placeholder for the folder of the input in values, such as ``{input}/questions-rewritten.json``."""

_NO_NAME = re.compile(r"[^\w.+=-]+")


class InputChoice(Record, extra="forbid"):
    """Settings of one input. ``history`` None: gold if the input has a history, otherwise none."""

    history: HistoryMode | None = None
    conversations: Part = "all"
    collection: Text | None = None


class Ablation(Record, extra="forbid"):
    """The contents of an ablation file.

    ``axes``: name -> values. A name is a node (``rewriter``: its type) or a dotted parameter. Values are a list, or a
    mapping from names to settings, which may have ``drop`` and ``inputs`` (the only inputs on which it runs).
    ``baseline``: the name of the row to compare with, or its values by axis.
    """

    question: Text = ""
    pipeline: Text
    drop: list[Text] = []
    override: dict[str, Any] = {}
    axes: dict[str, list[Any] | dict[str, Any]] = {}
    baseline: dict[str, Any] | Text | None = None
    history: HistoryMode | None = None
    vectors: Text | None = None
    measures: list[Text] = Field(default_factory=list)
    inputs: dict[str, InputChoice] = {}


@dataclass(frozen=True, slots=True)
class Row:
    """A pipeline of the grid: the base with ``overrides`` and without the nodes in ``drop``.

    ``values``: axis -> the name of its value. ``inputs``: the names of its inputs; None: all.
    """

    name: str
    values: Mapping[str, str]
    overrides: Mapping[str, Any]
    drop: tuple[str, ...] = ()
    inputs: tuple[str, ...] | None = None

    def settings(self, input_folder: Path) -> dict[str, Any]:
        """Return the overrides with ``{input}``, replaced by the folder's path."""
        templates = {key: value for key, value in self.overrides.items() if isinstance(value, str) and INPUT in value}
        return {key: value.replace(INPUT, str(input_folder)) for key, value in templates.items()}

    def document(self, ablation: Ablation, file: Path) -> str:
        """Return the row's pipeline file, whose values with ``{input}`` :meth:`settings` overrides."""
        base = find(ablation.pipeline, file)
        removed = dict.fromkeys([*ablation.drop, *self.drop])
        return resolve(base, {**ablation.override, **self.overrides, **removed}).to_yaml()


def read_ablation(name: str) -> tuple[Ablation, Path]:
    """Read an ablation, given the path of its file or a name in ``configs/ablations``. Return it and the file.

    :raises InputError: naming the file and the field.
    """
    file = yaml_file(name, "ablation", "configs", "ablations")
    data = read_yaml(file, "ablation")
    where = f"ablation {file}"
    ablation = read_as(Ablation, data, where, f"Fields: {', '.join(Ablation.model_fields)}.")
    refuse_secrets(data, where)
    if not ablation.axes:
        raise InputError(f"{where}: expected axes with their values.")
    return ablation, file


def rows_of(ablation: Ablation, file: Path) -> list[Row]:
    """Return the rows of the grid, with unique names.

    :raises InputError: for an axis without values, and malformed values or rows.
    """
    where = f"ablation {file}"
    rows = []
    axes = [[(axis, *value) for value in _values(axis, values, where)] for axis, values in ablation.axes.items()]
    for combination in itertools.product(*axes):
        values = {axis: name for axis, name, _ in combination}
        rows.append(_row("+".join(map(_file_name, values.values())), values, [part for *_, part in combination], where))
    names = [row.name for row in rows]
    if duplicate := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{where}: two rows are called {duplicate}. Their folders need different names.")
    return rows


def baseline_of(ablation: Ablation, rows: list[Row], file: Path) -> Row:
    """Return the first row with the name or the values of ``baseline``.

    :raises InputError: if there is none.
    """
    baseline = ablation.baseline or {}
    for row in rows:
        if row.name == baseline or (isinstance(baseline, dict) and baseline.items() <= row.values.items()):
            return row
    names = ", ".join(row.name for row in rows[:6])
    raise InputError(f"ablation {file}: baseline {shorten(baseline)}: unknown row; expected one of {names} ...")


def _values(axis: str, values: list[Any] | dict[str, Any], where: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the settings of each value of an axis."""
    if not values:
        raise InputError(f"{where}: axes.{axis}: expected one or more values, got none.")
    setting = axis if "." in axis else f"{axis}.type"
    if isinstance(values, list):
        for value in values:
            yield (value if isinstance(value, str) else yaml.safe_dump(value).splitlines()[0]), {setting: value}
        return
    for name, settings in values.items():
        if not isinstance(settings, dict | None):
            raise InputError(
                f"{where}: axes.{axis}.{name}: expected settings {{NODE.PARAMETER: VALUE}}, got {shorten(settings)}."
            )
        yield name, settings or {}


def _row(name: str, values: Mapping[str, str], parts: list[Mapping[str, Any]], where: str) -> Row:
    overrides: dict[str, Any] = {}
    drop: list[str] = []
    inputs: tuple[str, ...] | None = None
    for part in parts:
        lists = {key: part.get(key, []) for key in ("drop", "inputs")}
        for key, names in lists.items():
            if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
                raise InputError(f"{where}: {key}: expected a list of names, got {shorten(names)}.")
        drop += lists["drop"]
        if "inputs" in part:
            inputs = tuple(one for one in lists["inputs"] if inputs is None or one in inputs)
        overrides |= {key: value for key, value in part.items() if key not in lists}
    return Row(name, values, overrides, tuple(dict.fromkeys(drop)), inputs)


def _file_name(name: str) -> str:
    """Return a name that is valid for a folder.

    >>> _file_name("BM25, k1 = 0.9/b")
    'BM25_k1_=_0.9_b'
    """
    return _NO_NAME.sub("_", name).strip(".") or "_"
