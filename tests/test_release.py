"""What keeps a version from being released."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from metadata import absolute
from release import problem

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


def test_links_of_the_readme_lead_somewhere_on_the_package_index():
    readme = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
    shown = absolute(readme, "https://example.org/convqa")
    links = re.findall(r"\]\(([^)]+)\)", shown)
    assert len(links) > 10 and all(link.startswith(("https://", "#")) for link in links)


@pytest.mark.slow
def test_the_wheel_has_the_project_s_addresses(tmp_path):
    root = Path(__file__).resolve().parents[1]
    for address, expected in (("", None), ("https://example.org/convqa/", "https://example.org/convqa/issues")):
        command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path / "dist"), str(root)]
        environment = {**os.environ, "CONVQA_REPOSITORY": address}
        subprocess.run(command, check=True, capture_output=True, env=environment)
        (wheel,) = (tmp_path / "dist").glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith("METADATA")]
            page = archive.read(name).decode()
        wheel.unlink()
        assert "Description-Content-Type: text/markdown" in page
        assert (f"Project-URL: Issues, {expected}" in page) == bool(expected)
        assert ("](docs/" in page) != bool(expected)
