"""What runs the cases of hostile input: hostile.py says what a case is."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile import GOOD, Case, Content

SECONDS = 20.0
"""The most that a call may take by the clock. On a quiet machine each takes less than three."""
MEGABYTES = 1200
"""The most memory that a call may hold at its peak."""
CHARACTERS = 10_000
"""The most that a call may print."""

SAMPLED = 8
"""One of so many cases of each file is in the sample for CI (make test-hostile-sample)."""

NEVER = re.compile(r"Traceback \(most|MemoryError|recursion depth|instance of|object at 0x|\x1b|\x00")
"""What no output contains."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "hostile" in metafunc.fixturenames:
        cases = metafunc.module.CASES
        names = [case.name for case in cases]
        assert len(set(names)) == len(names), {name for name in names if names.count(name) > 1}
        parameters = []
        for number, case in enumerate(cases):
            marks = [pytest.mark.hostile]
            if number % SAMPLED == 0:
                marks.append(pytest.mark.hostile_sample)
            parameters.append(pytest.param(case, marks=marks, id=case.name))
        metafunc.parametrize("hostile", parameters)


@pytest.fixture(scope="session")
def good_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The good files, two collections of their passages, and a run over them."""
    from convqa.indexing import add_vectors, index_sources
    from convqa.models import load_encoder

    folder = tmp_path_factory.mktemp("good")
    for name, text in GOOD.items():
        _write(folder / name, text)
    index_sources([folder / "passages.jsonl"], str(folder / "collection"))
    shutil.copytree(folder / "collection", folder / "vectors")
    add_vectors(str(folder / "vectors"), load_encoder("encoder"))
    arguments = f"run {folder}/qrecc {folder}/done --collection {folder}/collection --pipeline copy-bm25 --task qrecc"
    subprocess.run([sys.executable, "-m", "convqa", *shlex.split(arguments)], check=True, capture_output=True)
    return folder


def _write(path: Path, content: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if callable(content):
        content(path)
    elif content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))


@pytest.fixture
def check(
    command_line: Callable[[dict[str, Any]], dict[str, Any]], good_folder: Path, tmp_path: Path
) -> Callable[[Case], None]:
    """Gives a case's command in a folder of its own, and holds the outcome against what is expected."""

    def run(case: Case) -> None:
        folder = tmp_path / "work"
        shutil.copytree(good_folder, folder)
        for name, content in case.files.items():
            _write(folder / name, content)
        (tmp_path / "stdin").write_text(case.stdin)
        outcome = command_line(
            {
                "arguments": shlex.split(case.command),
                "folder": str(folder),
                "environment": {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), **case.environment},
                "seconds": SECONDS,
                "memory": 2 * MEGABYTES,
                **{name: str(tmp_path / name) for name in ("stdin", "stdout", "stderr")},
            }
        )
        said = [(tmp_path / name).read_bytes().decode("utf-8", "replace") for name in ("stdout", "stderr")]
        output = "\n".join(said)
        faults = [
            (outcome["exit"] not in case.exits, f"the exit code is not of {case.exits}"),
            (outcome["peak"] > MEGABYTES, f"more than {MEGABYTES} MB"),
            (len(output) > CHARACTERS, f"{len(output)} characters of output"),
            (NEVER.search(output), "words that no output contains"),
            (outcome["exit"] != 0 and not said[1].strip(), "no message on standard error"),
            *((word not in output, f"{word!r} is not in the output") for word in case.says),
            *((word in output, f"{word!r} is in the output") for word in case.hides),
        ]
        if wrong := [text for fault, text in faults if fault]:
            pytest.fail(f"{'; '.join(wrong)}\n{outcome}\n$ convqa {case.command}\n{output[:2000]}", pytrace=False)

    return run
