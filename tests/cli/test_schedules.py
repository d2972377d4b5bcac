"""Random schedules of kills and resumes: whenever a run is ended, and however often, it ends in the same bytes."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

WORKERS = {"local": [], **{name: ["--executor", name, "--workers", "2"] for name in ("processes", "ray")}}
"""By executor, the options of ``convqa run`` that choose it. Each has to end in the bytes of the first."""

MANY = int(os.environ.get("CONVQA_SCHEDULES", "200"))
"""Schedules of each executor in the slow lane. Each takes half a minute with Ray."""

GRACE = 10.0
"""Seconds that a process has after SIGTERM, as service managers and job schedulers give them."""


Executor = tuple[list[str], dict[str, str]]


@dataclass
class Ends:
    """What ended the runs: exit code -> how often. ``timeout``: by kill -9."""

    counts: dict[int | str, int] = field(default_factory=dict)
    in_the_middle: int = 0


def component(folder: Path) -> dict[str, str]:
    """Environment in which the pipeline's own component is known, to the processes of workers as well."""
    path = os.pathsep.join([str(folder), str(Path(__file__).resolve().parents[2])])
    return {"PYTHONPATH": path, "HAYSTACK_DESERIALIZATION_ALLOWLIST": "slow_for_test"}


@pytest.fixture
def run(command_line, slow, small, indexed, tmp_path):
    """``run(output, options, **request)`` in a process of its own, of which it says how it ended."""
    environment = {
        **component(tmp_path), "SLOW_SECONDS": "0.005",
        "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }  # fmt: skip
    for name in ("stdin", "stdout", "stderr"):
        (tmp_path / name).touch()
    files = {name: str(tmp_path / name) for name in ("stdin", "stdout", "stderr")}
    options = ["--collection", str(indexed), "--pipeline", str(slow), "--batch-size", "2"]

    def started(output: Path, executor: Executor, seconds: float = 120.0, grace: float = 0.0):
        arguments = ["run", str(small), str(output), *options, *executor[0]]
        variables = environment | executor[1]
        request = {"arguments": arguments, "folder": str(tmp_path), "environment": variables, **files}
        return command_line({**request, "seconds": seconds, "grace": grace})

    return started


@pytest.fixture
def executor(request, tmp_path):
    """Options of an executor, and the environment that it needs. Turns take as long as the start of its workers."""
    slow = {"SLOW_SECONDS": {"local": "0.005", "processes": "0.15", "ray": "0.6"}[request.param]}
    if request.param != "ray":
        yield WORKERS[request.param], slow
        return
    with request.getfixturevalue("start_ray")(**component(tmp_path), **slow) as access:
        yield WORKERS["ray"], access


def _end_it(run, output: Path, executor: Executor, whole: bytes, most: float, seed: int, ends: Ends) -> None:
    """One run with up to four ends, by SIGTERM or kill -9, and then none."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        code = run(output, executor, chance.uniform(0, most), chance.choice((0.0, GRACE)))["exit"]
        ends.counts[code] = ends.counts.get(code, 0) + 1
        # -15: before the command line listened to signals; 15: while Ray, which starts, does.
        assert code in {0, 143, -15, "timeout", *([15] if "ray" in executor[0] else [])}, (
            output.parent / "stderr"
        ).read_text()
        journal, run_file = output / "responses.jsonl", output / "run.json"
        ends.in_the_middle += journal.is_file() and journal.stat().st_size > 0 and not run_file.exists()
        assert not run_file.exists() or run_file.read_bytes() == whole
    assert run(output, executor)["exit"] == 0, (output.parent / "stderr").read_text()
    assert (output / "run.json").read_bytes() == whole


@pytest.mark.parametrize(
    ("executor", "seeds"),
    [
        ("local", 2),
        *(pytest.param(name, MANY, marks=pytest.mark.slow) for name in ("local", "processes")),
        pytest.param("ray", MANY, marks=[pytest.mark.slow, pytest.mark.services]),
    ],
    indirect=["executor"],
)
def test_runs_that_are_ended_at_random_end_in_the_same_bytes(run, tmp_path, executor, seeds):
    assert run(tmp_path / "whole", ([], {}))["exit"] == 0
    whole = (tmp_path / "whole" / "run.json").read_bytes()
    most, ends = run(tmp_path / "timed", executor)["clock"], Ends()
    for seed in range(seeds):
        _end_it(run, tmp_path / f"run-{seed}", executor, whole, most, seed, ends)
    assert ends.in_the_middle >= seeds / (10 if "ray" in executor[0] else 2), ends
    if seeds > 100:
        assert {143, "timeout"} <= set(ends.counts), ends
