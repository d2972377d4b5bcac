from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"
PAGES = [page for page in DOCS.glob("*.md") if "<!-- table " in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tables_of_a_page_are_those_of_its_json(page):
    import tables

    text = page.read_text(encoding="utf-8")
    assert text == tables.filled(page), "run make fix"
    recorded = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert sorted(re.findall(r"<!-- table (\S+) -->", text)) == sorted(recorded)
    assert [name for name, table in recorded.items() if not re.fullmatch(r"\d{4}-\d\d-\d\d", table["date"])] == []


def test_write_replaces_a_table_and_its_page(tmp_path, monkeypatch, capsys):
    import _common
    import tables

    monkeypatch.setattr(tables, "PAGES", tmp_path)
    monkeypatch.setattr(tables, "git_commit", lambda: "0123456789abcdef-dirty")
    monkeypatch.setattr(sys, "argv", ["benchmarks/speed.py", "overhead", "--write"])
    page = tmp_path / "speed.md"
    page.write_text("Before.\n<!-- table loop -->\n<!-- end -->\nAfter.\n")
    _common.table(["way", "turns/s"], iter([["framework", "187"]]), "speed/loop")
    recorded = json.loads((tmp_path / "speed.json").read_text())["loop"]
    assert recorded["command"] == "python benchmarks/speed.py overhead"
    assert recorded["commit"] == "012345678-dirty"
    assert "| way | turns/s |\n|---|---|\n| framework | 187 |\n" in page.read_text()
    assert page.read_text().startswith("Before.\n") and page.read_text().endswith("<!-- end -->\nAfter.\n")
    assert capsys.readouterr().out.endswith("| framework | 187 |\n")


def test_without_write_or_a_name_nothing_is_recorded(tmp_path, monkeypatch):
    import _common
    import tables

    monkeypatch.setattr(tables, "PAGES", tmp_path)
    monkeypatch.setattr(sys, "argv", ["benchmarks/speed.py"])
    _common.table(["way"], [["one"]], "speed/loop")
    monkeypatch.setattr(sys, "argv", ["benchmarks/speed.py", "--write"])
    _common.table(["way"], [["one"]])
    assert list(tmp_path.iterdir()) == []


def test_the_tables_that_scripts_write_are_on_a_page():
    pages = "|".join(page.stem for page in PAGES)
    calls = [
        name
        for script in (DOCS.parents[1] / "benchmarks").glob("*.py")
        for name in re.findall(rf'"((?:{pages})/[a-z-]+)"', script.read_text(encoding="utf-8"))
    ]
    assert len(calls) > 10
    recorded = {f"{page.stem}/{name}" for page in PAGES for name in json.loads(page.with_suffix(".json").read_text())}
    assert set(calls) <= recorded
