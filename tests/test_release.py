"""What keeps a version from being released."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from release import absolute, copy_for_the_index, problem

from convqa import __version__

GOOD = """# Changelog

## [Unreleased]

## [0.2.0] - 2026-11-24

### Added
- More.

## [0.1.0] - 2026-01-01
- All.
"""


def test_a_dated_section_and_a_clean_tree_suffice():
    assert problem(GOOD, "0.2.0", ["v0.1.0"], "") is None


@pytest.mark.parametrize(
    ("changelog", "version", "changes", "reason"),
    [
        (GOOD, "0.2.0", " M README.md", "not committed"),
        (GOOD, "0.1.0", "", "tag v0.1.0 exists"),
        (GOOD, "0.3.0", "", r'no section "## [0.3.0] - YYYY-MM-DD"'),
        (GOOD.replace("### Added\n- More.\n", ""), "0.2.0", "", "with entries"),
        (GOOD.replace(" - 2026-11-24", ""), "0.2.0", "", "YYYY-MM-DD"),
        (GOOD.replace("[Unreleased]\n", "[Unreleased]\n- Later.\n"), "0.2.0", "", "entries under [Unreleased]"),
    ],
)
def test_what_is_missing_is_named(changelog, version, changes, reason):
    assert reason in problem(changelog, version, ["v0.1.0"], changes)


def test_the_citation_names_this_version():
    citation = (Path(__file__).resolve().parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {__version__}\n" in citation


def test_links_of_the_readme_lead_somewhere_on_the_package_index():
    readme = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
    shown = absolute(readme, "https://example.org/convqa")
    links = re.findall(r"\]\(([^)]+)\)", shown)
    assert len(links) > 10 and all(link.startswith(("https://", "#")) for link in links)


def test_the_index_shows_the_project_s_addresses(tmp_path):
    try:
        copy_for_the_index("https://example.org/convqa", tmp_path / "copy")
    except subprocess.CalledProcessError:
        pytest.skip("not a git checkout")
    project = tomllib.loads((tmp_path / "copy" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Issues"] == "https://example.org/convqa/issues" and project["scripts"]
    assert "](docs/" not in (tmp_path / "copy" / "README.md").read_text(encoding="utf-8")
