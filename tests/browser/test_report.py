"""The report of a real small ablation in a browser: at three widths, in both themes, by itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from convqa.places import shipped

pytestmark = pytest.mark.browser
GRID = """
question: Which rewriter finds most, and do longer stop words help?
pipeline: expansion-bm25
history: own
axes:
  rewriter:
    copy: {rewriter.type: copy}
    concatenate: {rewriter.type: concatenate}
    expansion: {rewriter.type: expansion}
    human: {rewriter.type: recorded, rewriter.path: "{input}/questions-rewritten.json"}
  stop words:
    short: {}
    long: {retriever.stopwords: long}
baseline: {rewriter: copy, stop words: short}
measures: [MRR, nDCG@3, F1]
"""
ARE_KEPT = bool(os.environ.get("CONVQA_SCREENSHOTS"))


def some_conversations(folder):
    """The bundled example without its later conversations; the pictures show all."""
    shutil.copytree(shipped("examples", "qrecc-trec"), folder)
    if not ARE_KEPT:
        for file in folder.glob("*.json"):
            turns = [turn for turn in json.loads(file.read_text()) if turn["Conversation_no"] <= 3]
            file.write_text(json.dumps(turns))
    return folder


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """The address of a report."""
    folder = tmp_path_factory.mktemp("ablation")
    (folder / "grid.yaml").write_text(GRID)
    example = str(some_conversations(folder / "input"))
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    for command in (["ablate", "grid.yaml", example, "out", "--quiet"], ["report", "out"]):
        subprocess.run([sys.executable, "-m", "convqa", *command], cwd=folder, env=environment, check=True)
    assert (folder / "out" / "report.html").stat().st_size < 500_000
    return (folder / "out" / "report.html").as_uri()


@pytest.fixture
def open_report(browser, reported):
    """``open_report(width, theme)``: the page; what its console says and what it asks for fail the test at the end."""
    contexts, mishaps, requests = [], [], []

    def open_(width, theme="light", **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, **options)
        contexts.append(context)
        context.set_default_timeout(20_000)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda said: mishaps.append(said.text))
        page.on("pageerror", lambda error: mishaps.append(str(error)))
        page.goto(reported)
        page.evaluate("() => document.querySelectorAll('details').forEach(each => each.open = true)")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert mishaps == []
    assert {url for url in requests if not url.startswith("data:")} == {reported}


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (820, "light"), (1400, "dark")])
def test_it_fits_and_can_be_read(open_report, width, theme):
    page = open_report(width, theme)
    assert page.evaluate("() => document.documentElement.scrollWidth") == width
    assert page.locator("dd").first.is_visible()


@pytest.mark.parametrize(("width", "theme"), [(390, "light"), (820, "dark"), (1400, "light")])
def test_axe_finds_nothing(open_report, width, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_report(width, theme, bypass_csp=True)
    found = axe.run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"], each["nodes"][0]["failureSummary"]) for each in found] == []


def test_pictures(open_report, root, tmp_path):
    folder = root / "docs" / "images" if ARE_KEPT else tmp_path
    page = open_report(1280)
    page.screenshot(path=folder / "report-tables.png", clip={"x": 0, "y": 0, "width": 1280, "height": 760})
    assert 10_000 < (folder / "report-tables.png").stat().st_size < 300_000
