"""Docs that cannot lie: examples run, commands and options exist, the generated page is up to date."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

from convqa.cli import application

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKED = [*PAGES, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "convqa" / "models").rglob("README.md"))]
NAMING = ("benchmarks", "configs", "convqa", "docker", "docs", "examples", "pipelines", "recipes", "tests")
"""Folders whose files name pages of docs; so do the files in the root."""
TEXTS = {".ipynb", ".md", ".py", ".toml", ".yaml"}


def blocks(language):
    for page in PAGES:
        for number, text in enumerate(
            re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.S), 1
        ):
            yield pytest.param(text, id=f"{page.relative_to(ROOT)}-{number}")


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("commands", REFERENCE / "commands.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def commands_page(generator):
    return generator.text()


@pytest.mark.parametrize("text", list(blocks("python")))
def test_python_examples_run(text, example_cache, monkeypatch):
    monkeypatch.chdir(ROOT)
    exec(compile(text, "the example", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("text", list(blocks("yaml")))
def test_yaml_examples_can_be_read(text):
    assert yaml.safe_load(text)


def commands_in(text):
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words and words[0] in {"convqa", "make"}:
            yield words


@pytest.mark.parametrize("text", [*blocks("console"), *blocks("sh")])
def test_commands_in_the_docs_exist_with_their_options(text, commands_page):
    makefile = (ROOT / "Makefile").read_text()
    for words in commands_in(text):
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.M), words
            continue
        if words[1].startswith("-"):
            assert words[1] in commands_page
            continue
        section = re.search(rf"## convqa {words[1]}\n(.*?)(?=\n## |\Z)", commands_page, re.S)
        assert section, f"there is no command {words[1]!r}"
        for option in [word.partition("=")[0] for word in words[2:] if word.startswith("-")]:
            assert option in section[1], f"convqa {words[1]} has no option {option}"


def test_the_commands_page_is_up_to_date(commands_page):
    assert (REFERENCE / "commands.md").read_text(encoding="utf-8") == commands_page, "run make fix"


def test_the_reference_names_every_command_and_pipeline():
    commands = (REFERENCE / "commands.md").read_text(encoding="utf-8")
    pipelines = (REFERENCE / "pipelines.md").read_text(encoding="utf-8")
    command = typer.main.get_command(application())
    names = command.list_commands(typer.Context(command))
    assert "run" in names
    assert [name for name in names if f"## convqa {name}\n" not in commands] == []
    shipped = [path.stem for path in (ROOT / "pipelines").glob("*.yaml")]
    rows = "\n".join(line for line in pipelines.splitlines() if line.startswith("| "))
    assert [name for name in sorted(shipped) if f"`{name}`" not in rows] == []


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.S)
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = page if not path else page.parent / path
        if not file.exists() or (anchor and anchor not in headings(file)):
            wrong.append(target)
    assert wrong == []


def headings(page):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    titles = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in re.findall(r"^#+ (.*)$", text, re.M))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_page_that_is_named_exists():
    files = [file for folder in NAMING for file in (ROOT / folder).rglob("*")]
    missing, count = [], 0
    for file in [*files, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "Makefile"]:
        if file.suffix in TEXTS or file.name in {"Dockerfile", "Makefile"}:
            for path in re.findall(
                r"(?<![\w/.-])docs/[\w/-]+\.(?:md|py|json|png|svg)", file.read_text(encoding="utf-8")
            ):
                count += 1
                if not (ROOT / path).exists():
                    missing.append(f"{file.relative_to(ROOT)}: {path}")
    assert count > 50
    assert missing == []


def test_the_readme_opens_with_the_two_commands():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert 0 < readme.index("make run") < readme.index("make test") < 4000


@pytest.mark.parametrize("pipeline", ["copy-bm25", pytest.param("default", marks=pytest.mark.slow)])
def test_the_way_of_a_turn_is_up_to_date(pipeline):
    command = [sys.executable, REFERENCE / "way_of_a_turn.py", pipeline]
    section = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert section in (REFERENCE / "way-of-a-turn.md").read_text(), "run make fix"


def test_a_pipeline_is_shown_as_it_is():
    shown = (ROOT / "docs" / "reference" / "pipelines.md").read_text(encoding="utf-8")
    talk = (ROOT / "pipelines" / "talk.yaml").read_text(encoding="utf-8")
    assert f"```yaml\n{talk[talk.index('metadata:') :]}```" in shown
