"""The file of an ablation: a base pipeline, axes and inputs; and the rows of the grid that they make."""

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
from convqa.pipeline.document import find
from convqa.places import is_yaml, yaml_file
from convqa.safe_yaml import read_yaml
from convqa.validation import Record, Text, read_as, refuse_secrets, shorten

Part = Literal["all", "odd", "even"]
"""The conversations that count: all, or those whose number is odd or even, where the others chose settings."""

INPUT = "{input}"
"""In a value of an axis: the folder of the input, such as ``{input}/questions-rewritten.json``."""

_NO_NAME = re.compile(r"[^\w.+=-]+")


class InputChoice(Record, extra="forbid"):
    """How one input is run. ``history`` None: gold where the input gives any, else none."""

    history: HistoryMode | None = None
    conversations: Part = "all"
    collection: Text | None = None


class Ablation(Record, extra="forbid"):
    """An ablation as its file has it.

    ``axes``: name -> values; a name is a node (``rewriter``: its type) or a dotted parameter, a value is one of these
    or, under a name of its own, the settings that make it up, with ``drop`` and ``inputs`` (where alone it is run).
    ``rows`` lists rows instead, by name. ``baseline``: of the row that others are compared with, its values by axis.
    """

    question: Text = ""
    pipeline: Text
    drop: list[Text] = []
    override: dict[str, Any] = {}
    axes: dict[str, list[Any] | dict[str, Any]] = {}
    rows: dict[str, dict[str, Any]] = {}
    baseline: dict[str, Any] | Text | None = None
    history: HistoryMode | None = None
    vectors: Text | None = None
    measures: list[Text] = Field(default_factory=list)
    inputs: dict[str, InputChoice] = {}


@dataclass(frozen=True, slots=True)
class Row:
    """A pipeline of the grid: the base with ``overrides`` and without the nodes of ``drop``.

    ``values``: axis -> the name of its value. ``inputs``: the names of those where it is run; None: all.
    """

    name: str
    values: Mapping[str, str]
    overrides: Mapping[str, Any]
    drop: tuple[str, ...] = ()
    inputs: tuple[str, ...] | None = None

    def settings(self, input_folder: Path) -> dict[str, Any]:
        """The overrides that name the input's folder, with its path."""
        named = {key: value for key, value in self.overrides.items() if isinstance(value, str) and INPUT in value}
        return {key: value.replace(INPUT, str(input_folder)) for key, value in named.items()}

    def document(self, ablation: Ablation, file: Path) -> str:
        """A pipeline file of the row; what :meth:`settings` gives takes the place of values with ``{input}``."""
        base = ablation.pipeline
        if is_yaml(base):
            base = str(find(base, beside=file).resolve())
        drop = [*ablation.drop, *self.drop]
        made = {"extends": base, "override": {**ablation.override, **self.overrides}, "drop": drop}
        return yaml.safe_dump(made, sort_keys=False, allow_unicode=True, width=120)


def read_ablation(name: str) -> tuple[Ablation, Path]:
    """Read an ablation, given the path of its file or a name in ``configs/ablations``. Return it and the file.

    :raises InputError: naming the file and the field.
    """
    file = yaml_file(name, "ablation", "configs", "ablations")
    data = read_yaml(file, "ablation")
    where = f"ablation {file}"
    ablation = read_as(Ablation, data, where, f"Known are: {', '.join(Ablation.model_fields)}.")
    refuse_secrets(data, where)
    if bool(ablation.axes) == bool(ablation.rows):
        raise InputError(f"{where}: wanted either axes, whose values make the grid, or rows, which lists it.")
    return ablation, file


def rows_of(ablation: Ablation, file: Path) -> list[Row]:
    """The rows of the grid, or those that are listed; names are unique.

    :raises InputError: for an axis without values, and values or rows that are not as wanted.
    """
    where = f"ablation {file}"
    rows = [_row(_file_name(name), {}, [settings], f"{where}: rows.{name}") for name, settings in ablation.rows.items()]
    axes = [[(axis, *value) for value in _values(axis, values, where)] for axis, values in ablation.axes.items()]
    for combination in itertools.product(*axes) if axes else ():
        values = {axis: name for axis, name, _ in combination}
        rows.append(_row("+".join(map(_file_name, values.values())), values, [part for *_, part in combination], where))
    names = [row.name for row in rows]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{where}: two rows are called {twice}. Their folders need different names.")
    return rows


def baseline_of(ablation: Ablation, rows: list[Row], file: Path) -> Row:
    """The row that the others are compared with: the first that has the values of ``baseline``.

    :raises InputError: if none has.
    """
    wanted = ablation.baseline or {}
    for row in rows:
        if row.name == wanted or (isinstance(wanted, dict) and wanted.items() <= row.values.items()):
            return row
    names = ", ".join(row.name for row in rows[:6])
    raise InputError(f"ablation {file}: baseline {shorten(wanted)}: no such row; they are called {names} ...")


def _values(axis: str, values: list[Any] | dict[str, Any], where: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Name and settings of each value of an axis."""
    if not values:
        raise InputError(f"{where}: axes.{axis}: has no values; wanted one or more.")
    setting = axis if "." in axis else f"{axis}.type"
    if isinstance(values, list):
        for value in values:
            yield (value if isinstance(value, str) else yaml.safe_dump(value).splitlines()[0]), {setting: value}
        return
    for name, settings in values.items():
        if not isinstance(settings, dict | None):
            raise InputError(
                f"{where}: axes.{axis}.{name}: found {shorten(settings)}; wanted settings: {{NODE.PARAMETER: VALUE}}."
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
                raise InputError(f"{where}: {key}: found {shorten(names)}; wanted a list of names.")
        drop += lists["drop"]
        if "inputs" in part:
            inputs = tuple(one for one in lists["inputs"] if inputs is None or one in inputs)
        overrides |= {key: value for key, value in part.items() if key not in lists}
    return Row(name, values, overrides, tuple(dict.fromkeys(drop)), inputs)


def _file_name(name: str) -> str:
    """A name as a folder may have it.

    >>> _file_name("BM25, k1 = 0.9/b")
    'BM25_k1_=_0.9_b'
    """
    return _NO_NAME.sub("_", name).strip(".") or "_"
