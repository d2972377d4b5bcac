"""Documents are added on the page, asked and removed again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from convqa.indexing import index_sources
from tests.browser.conftest import KEY, Server

pytestmark = pytest.mark.browser
PICTURES = os.environ.get("CONVQA_PICTURES", "")
"""A folder for pictures of every state; none are taken by default."""


@pytest.fixture
def papers(tmp_path):
    """``papers(**fields)``: a server of a folder of documents that takes others."""
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "leave.md").write_text("# Leave\n\nEvery employee has 28 days of leave a year.\n")
    index_sources([folder], str(tmp_path / "handbook"))
    started = []

    def start(**fields):
        (tmp_path / "server").mkdir()
        fields = {
            "collection": str(tmp_path / "handbook"),
            "originals": str(folder),
            "documents": True,
            "pipelines": {"talk": {"title": "The handbook"}},
            **fields,
        }
        started.append(Server(tmp_path / "server", fields, tmp_path / "cache").start())
        started[-1].folder = folder
        return started[-1]

    yield start
    for server in started:
        server.stop()


def files(tmp_path):
    texts = {
        "pets.md": "# Pets\n\n## Dogs\n\nDogs may come to the office on Fridays.\n",
        "rooms.html": "<h1>Rooms</h1><p>The blue room has 12 seats.</p><table><tr><th>Room</th><th>Seats</th></tr>"
        "<tr><td>Blue</td><td>12</td></tr></table><form><input name=a></form>",
        "empty.txt": " \n",
        "setup.exe": "MZ",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in texts]


def lines(page):
    return page.locator("#added-now li").all_inner_texts()


def picture(page, name):
    if PICTURES:
        Path(PICTURES).mkdir(exist_ok=True)
        page.wait_for_timeout(300)
        page.screenshot(path=f"{PICTURES}/{name}.png", animations="disabled", caret="hide")


def test_documents_are_added_asked_and_removed(papers, open_page, ask, tmp_path):
    server = papers()
    page = open_page(server.url, details=False)
    assert page.locator("#about .number").inner_text() == "1 passage"
    page.click("#add")
    assert ".exe" not in page.locator("#drop-files").get_attribute("accept")
    page.set_input_files("#drop-files", files(tmp_path))
    page.locator("#added-now :is(.done, .bad)").nth(3).wait_for()
    page.locator("#added li").nth(1).wait_for()
    pets, rooms, empty, setup = lines(page)
    assert "Added" in pets and "1 table" in rooms and "Not read:" in rooms
    assert "Not added. It is empty." in empty and "type .exe cannot be read" in setup
    names = page.locator("#added .name").all_inner_texts()
    assert [name.split("\n")[0] for name in names] == ["pets.md", "rooms.html"]
    picture(page, "add-1400-light")
    page.get_by_role("button", name="Done").click()
    page.locator("#about .number", has_text="3 passages").wait_for()
    turn = ask(page, "When may dogs come to the office?")
    assert "on Fridays" in turn.inner_text()
    page.click("#add")
    page.get_by_role("button", name="Remove “pets.md”").click()
    picture(page, "add-remove-1400-light")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Remove “pets.md”").wait_for(state="detached")
    assert [*(server.folder / "added").iterdir()] == [server.folder / "added" / "rooms.html"]
    page.keyboard.press("Escape")
    assert "on Fridays" not in ask(page, "When may dogs come to the office?").inner_text()


def test_files_are_dropped_anywhere_on_the_page(papers, open_page):
    page = open_page(papers().url, details=False)
    drag = """(type) => {
        const data = new DataTransfer();
        data.items.add(new File(["# Cats\\n\\nCats stay at home.\\n"], "cats.md", { type: "text/markdown" }));
        const target = document.querySelector("dialog[open] .drop") ?? document.querySelector("#turns");
        target.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
    }"""
    page.evaluate(drag, "dragenter")
    page.locator("#adding[open]").wait_for()
    page.evaluate(drag, "dragover")
    assert "over" in page.locator("#drop").get_attribute("class")
    page.evaluate(drag, "drop")
    page.locator("#added-now .done").wait_for()
    assert lines(page)[0].startswith("cats.md")


def test_a_key_that_may_not_add(papers, open_page):
    server = papers(keys={"tester": {"env": "TEST_KEY"}})
    page = open_page(server.url, details=False)
    page.fill("#key-value", KEY)
    page.keyboard.press("Enter")
    page.wait_for_selector("#collection:text('The handbook')")
    assert page.locator("#add").is_hidden() and page.locator("#documents").is_visible()


@pytest.mark.parametrize(
    ("width", "theme"), [(390, "dark"), (820, "light"), (1400, "dark"), (390, "light"), (820, "dark")]
)
def test_axe_finds_nothing_in_the_dialog(papers, open_page, tmp_path, width, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    keys = {"tester": {"env": "TEST_KEY", "documents": True}}
    page = open_page(papers(keys=keys).url, width=width, details=False, color_scheme=theme, bypass_csp=True)
    page.fill("#key-value", KEY)
    page.keyboard.press("Enter")
    page.locator("#add").wait_for()
    picture(page, f"add-welcome-{width}-{theme}")
    page.click("#add")
    picture(page, f"add-empty-{width}-{theme}")
    page.set_input_files("#drop-files", files(tmp_path))
    page.locator("#added-now :is(.done, .bad)").nth(3).wait_for()
    page.locator("#added li").nth(1).wait_for()
    picture(page, f"add-{width}-{theme}")
    found = axe.run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in {"serious", "critical"}] == []
