"""Docs that cannot lie: examples run, commands and options exist, the generated page is up to date."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language):
    for page in PAGES:
        for number, text in enumerate(
            re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.S), 1
        ):
            yield pytest.param(text, id=f"{page.name}-{number}")


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("commands", ROOT / "docs" / "reference" / "commands.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("text", list(blocks("python")))
def test_python_examples_run(text, example_cache, monkeypatch):
    monkeypatch.chdir(ROOT)
    exec(compile(text, "the example", "exec"), {"__name__": "__main__"})


def commands_in(text):
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words and words[0] in {"convqa", "make"}:
            yield words


@pytest.mark.parametrize("text", [*blocks("console"), *blocks("sh")])
def test_commands_in_the_docs_exist_with_their_options(text, generator):
    page = generator.text()
    makefile = (ROOT / "Makefile").read_text()
    for words in commands_in(text):
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.M), words
            continue
        if words[1].startswith("-"):
            assert words[1] in page
            continue
        section = re.search(rf"## convqa {words[1]}\n(.*?)(?=\n## |\Z)", page, re.S)
        assert section, f"there is no command {words[1]!r}"
        for option in [word.partition("=")[0] for word in words[2:] if word.startswith("-")]:
            assert option in section[1], f"convqa {words[1]} has no option {option}"


def test_the_commands_page_is_up_to_date(generator):
    assert (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8") == generator.text(), "run make fix"


def test_the_readme_names_every_command_and_pipeline(generator):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"^## convqa (\w+)$", generator.text(), re.M):
        assert f"convqa {name}" in readme, name
    for path in (ROOT / "pipelines").glob("*.yaml"):
        assert path.stem in readme, path.stem


def test_the_readme_opens_with_the_two_commands():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert 0 < readme.index("make run") < readme.index("make test") < 4000


@pytest.mark.parametrize("pipeline", ["copy-bm25", pytest.param("default", marks=pytest.mark.slow)])
def test_the_way_of_a_turn_is_up_to_date(pipeline):
    command = [sys.executable, ROOT / "docs" / "reference" / "way_of_a_turn.py", pipeline]
    section = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert section in (ROOT / "docs" / "reference" / "way-of-a-turn.md").read_text(), "run make fix"
