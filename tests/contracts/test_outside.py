"""What docs/reference/extending.md promises: parts of another package keep the same contracts, no file is edited."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def outside(installed, root):
    """Another package as pip would install it: its folder, and beside it its name and entry points."""
    folder = installed("outside", "convqa.stores", "shelf = outside.store", "")
    with (folder / "outside-1.0.dist-info" / "entry_points.txt").open("a") as points:
        points.write("[convqa.tasks]\nquiz = outside.quiz:Quiz\n")
    (folder / "outside.py").unlink()
    shutil.copytree(root / "tests" / "fixtures" / "outside" / "outside", folder / "outside")
    return folder


@pytest.fixture
def held(outside, root, request):
    """The result of a suite with these members: in a fixture, since most of its time is a process's imports."""
    suite, members = request.param
    chosen = [argument for member in members for argument in ("--convqa-member", member)]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, "-k", "outside or shelf"]
    return subprocess.run(
        [*command, str(root / "tests" / "contracts" / suite)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(outside), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("held", "tests"),
    [
        pytest.param(
            ("test_stations.py", ["outside.shout.Shout", "outside.opening.Opening"]), 17, marks=pytest.mark.slow
        ),
        pytest.param(("test_stores.py", ["shelf:"]), 46, marks=pytest.mark.slow),
        (("test_tasks.py", ["outside.quiz.Quiz"]), 6),
    ],
    indirect=["held"],
    ids=["stations", "stores", "tasks"],
)
def test_a_part_of_another_package_keeps_the_contract(held, tests):
    assert (held.returncode, re.findall(r"\d+ passed", held.stdout)) == (0, [f"{tests} passed"]), held.stdout
