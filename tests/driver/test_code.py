"""What the fingerprint of a run takes of components that are not convqa's."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import pytest

from convqa.driver.code import classes_in, code_of
from convqa.driver.fingerprint import differences

MODULE = "from convqa.components.base import Rewriter\n{imports}\nclass Mine(Rewriter):\n    pass\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Writes files into a folder of modules; those that were imported are forgotten at the end."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def write(**files):
        for name, text in files.items():
            path = tmp_path / f"{name.replace('__', '/', 1)}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        importlib.invalidate_caches()

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


def of(name):
    importlib.import_module(name.rpartition(".")[0])
    return code_of(classes_in({"node": {"init_parameters": {"inner": [{"type": name}]}}}))


def test_a_folder_that_the_package_has_by_a_link_counts(package, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "h.py").write_text("SUFFIX = 1")
    package(mine_a____init__="", mine_a__shout=MODULE.format(imports="from mine_a.sub import h"))
    module = next(Path(folder) for folder in sys.path if (Path(folder) / "mine_a").is_dir()) / "mine_a"
    (module / "sub").symlink_to(elsewhere)
    first = of("mine_a.shout.Mine")
    (elsewhere / "h.py").write_text("SUFFIX = 2")
    assert of("mine_a.shout.Mine") != first


def test_every_file_of_the_package_counts_and_what_it_imports_of_ones_own(package):
    package(
        mine_a____init__="",
        mine_a__shout=MODULE.format(imports="import yaml, mine_b"),
        mine_a__other="",
        mine_b="from mine_c import LOUD",
        mine_c="LOUD = 1",
        mine_d="",
    )
    first = of("mine_a.shout.Mine")
    assert list(first) == ["mine_a.shout.Mine"]
    assert [part.split()[0] for part in first["mine_a.shout.Mine"].split(", ")] == ["mine_a", "mine_b", "mine_c"]
    package(mine_d="changed")
    assert of("mine_a.shout.Mine") == first
    seen = [first]
    for file, text in {"mine_a__other": "X = 1", "mine_a__new": "", "mine_b": "from mine_c import *"}.items():
        package(**{file: text})
        assert of("mine_a.shout.Mine") not in seen
        seen.append(of("mine_a.shout.Mine"))
    marks = [{"task": "qrecc", "code": code} for code in (first, seen[-1], {})]
    assert differences(*marks[:2]) == ["code of mine_a.shout.Mine"] == differences(*marks[1:])


def test_a_base_class_in_another_module_counts(package):
    package(mine_base=MODULE.format(imports=""), mine_e="import mine_base\nclass Mine(mine_base.Mine): pass\n")
    first = of("mine_e.Mine")
    package(mine_base=MODULE.format(imports="import os"))
    assert of("mine_e.Mine") != first


def test_of_an_installed_package_the_version_counts_and_of_convqa_and_python_nothing():
    assert of("yaml.loader.SafeLoader")["yaml.loader.SafeLoader"].startswith("yaml PyYAML==")
    assert of("convqa.components.rewriters.copy.Copy") == of("collections.OrderedDict") == of("builtins.dict") == {}


def test_of_a_class_that_no_file_holds_the_code_is_not_known():
    """As what a cell of a notebook defines."""
    notebook = types.ModuleType("notebook_for_test")
    exec("class Mine: pass", vars(notebook))
    assert code_of([notebook.Mine]) == {"notebook_for_test.Mine": None}
