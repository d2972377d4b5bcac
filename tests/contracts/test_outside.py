"""Packages that are not convqa's test their parts with convqa.testing, without a checkout of convqa."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = ROOT / "tests" / "fixtures" / "outside"
PAGE = ROOT / "docs" / "reference" / "extending.md"


def install(folder):
    """Write what pip writes when it installs a folder's package."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    facts = folder / f"{project['name']}-{project['version']}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    ]
    (facts / "entry_points.txt").write_text("\n".join(groups))
    return folder


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """The package of tests/fixtures/outside."""
    return install(shutil.copytree(OUTSIDE, tmp_path_factory.mktemp("site") / "outside"))


@pytest.fixture
def documented(tmp_path):
    """The package of docs/reference/extending.md: each block of code that begins with the name of its file."""
    blocks = re.findall(r"```(python|toml)\n(.*?)```", PAGE.read_text(), re.S)
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "__init__.py").touch()
    shutil.copy(OUTSIDE / "outside" / "quiz.py", tmp_path / "my_package")
    (tmp_path / "pyproject.toml").write_text("".join(text for language, text in blocks if language == "toml"))
    for _, text in blocks:
        if name := re.match(r"# (\S+\.py)\n", text):
            (tmp_path / name[1]).write_text(text)
    return install(tmp_path)


def run_pytest(folder, *arguments):
    """Run pytest over a package's tests in a process of its own, as its author does."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def outcome(done):
    return done.returncode, re.findall(r"(\d+) passed", done.stdout)


@pytest.mark.parametrize(
    ("part", "passed"),
    [
        pytest.param("Quiz", 8, marks=pytest.mark.slow),
        pytest.param("Shout or Opening", 17, marks=pytest.mark.slow),
        pytest.param("Shelf", 48, marks=pytest.mark.slow),
    ],
)
def test_its_parts_keep_their_contracts(outside, part, passed):
    done = run_pytest(outside, "contracts.py", "-k", part)
    assert outcome(done) == (0, [str(passed)]), done.stdout


@pytest.mark.parametrize(
    ("file", "line", "broken", "part", "fact"),
    [
        pytest.param("shout.py", "turn.question.upper() if turn.history else turn.question", "turn.question.upper()",
                     "Shout", "test_a_first_turn_is_left_as_it_is", marks=pytest.mark.slow),
        ("quiz.py", "response.answer.text if response.answer else ''", "'said'", "Quiz",
         "test_a_run_has_every_turn_and_is_told_by_its_name"),
        pytest.param("store.py", "return [self._open().passages.get(id) for id in ids]",
                     "return [self._open().passages[id] for id in ids]", "Shelf",
                     "test_ids_and_texts_of_any_kind_come_back_as_they_were", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_broken_part_fails_by_the_name_of_the_fact(outside, tmp_path, file, line, broken, part, fact):
    folder = shutil.copytree(outside, tmp_path / "package")
    source = folder / "outside" / file
    assert line in source.read_text()
    source.write_text(source.read_text().replace(line, broken))
    done = run_pytest(folder, "contracts.py", "-k", f"{part} and {fact}")
    assert done.returncode == 1
    assert f"FAILED contracts.py::Test{part}::{fact}" in done.stdout


def test_the_package_of_the_docs_keeps_its_contracts(documented):
    done = run_pytest(documented)
    assert outcome(done) == (0, ["31"]), done.stdout
