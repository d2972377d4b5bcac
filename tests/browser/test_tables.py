"""Quoted rows of a document's table are shown as a small table, each with its citation."""

from __future__ import annotations

import pytest

from convqa.indexing import index_sources
from tests.browser.conftest import Server
from tests.browser.test_screenshots import ARE_KEPT, shoot

pytestmark = pytest.mark.browser
MUSEUM = """# The museum of kilns

The museum stands in an old brick works on the river.

## Entry fees

| | Weekday | Weekend |
|---|---|---|
| Adults | €7.00 | €9.00 |
| Children under twelve | €3.50 | €4.50 |
| Groups of ten or more, a head | €5.00 | €6.00 |

## Friendship

| Friendship | Joining fee | Yearly fee | Working hours |
|---|---|---|---|
| Student | €40 | €95 | 8 |

## Opening hours

It opens at ten in the morning on every day but Monday.

## What to bring to a firing

- Shoes that cover the toes
- A long apron
- Leather gloves

## Lighting the kiln

Before you light the kiln:

1. Close the back door
2. Open the damper
3. Tell the warden

Everybody in the yard must wear:

- a helmet
- boots with steel caps
"""


@pytest.fixture
def server(tmp_path):
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "museum.md").write_text(MUSEUM, encoding="utf-8")
    index_sources([tmp_path / "documents"], str(tmp_path / "museum"))
    (tmp_path / "server").mkdir()
    fields = {"collection": str(tmp_path / "museum"), "pipelines": {"talk": {"examples": []}}}
    server = Server(tmp_path / "server", fields, tmp_path / "cache").start()
    yield server
    server.stop()


def test_rows_of_one_table_become_one_table_in_pictures(open_page, ask, root, tmp_path):
    page = open_page(width=1280, height=620, details=False, color_scheme="light")
    turn = ask(page, "How much do adults and children under twelve pay?")
    table = turn.locator(".answer table")
    assert table.locator("caption").inner_text() == "Entry fees"
    assert table.locator("thead th").all_inner_texts() == ["", "Weekday", "Weekend"]
    rows = [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]
    assert rows == [["Children under twelve", "€3.50", "€4.50", "1"], ["Adults", "€7.00", "€9.00", "2"]]
    table.locator(".chip").first.click()
    page.wait_for_selector("#panel mark")
    assert page.locator("#panel tr.marked td").all_inner_texts() == ["Children under twelve", "€3.50", "€4.50"]
    page.mouse.move(600, 5)
    page.wait_for_timeout(500)
    shoot(page, (root / "docs" / "images" if ARE_KEPT else tmp_path) / "page-table.png")


def test_rows_and_items_are_shown_and_copied_as_lists(server, open_page, ask):
    page = open_page(details=False, permissions=["clipboard-read", "clipboard-write"])
    turn = ask(page, "How much do children under twelve pay?")
    turn.get_by_role("button", name="Copy the answer").click()
    turn.get_by_text("Copied.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "\n- Entry fees, Children under twelve: Weekday €3.50, Weekend €4.50 [1]\n" in copied
    assert ": “Children under twelve, €3.50, €4.50”\n" in copied
    turn = ask(page, "What should I bring to a firing?")
    items = turn.locator(".answer li").all_inner_texts()
    assert [item.split("\n")[0].rstrip("1234") for item in items] == [
        "Shoes that cover the toes",
        "A long apron",
        "Leather gloves",
    ]


def test_an_introduction_is_a_line_and_its_items_are_one_list(server, open_page, ask):
    page = open_page(details=False)
    for question, introduction, kind, items in (
        ("What must I wear in the yard?", "Everybody in the yard must wear:", "ul", "a helmet, boots with steel caps"),
        (
            "What should I do before I light the kiln?",
            "Before you light the kiln:",
            "ol",
            "Close the back door, Open the damper, Tell the warden",
        ),
    ):
        answer = ask(page, question).locator(".answer")
        assert answer.locator("p").all_inner_texts() == [introduction]
        assert answer.locator(f"{kind} li .sentence").all_inner_texts() == [
            f"{item}{number}" for number, item in enumerate(items.split(", "), 1)
        ]
        assert answer.locator("ul, ol").count() == 1


@pytest.mark.parametrize("width", [390, 1120])
def test_numbers_of_a_source_stand_on_one_line_and_its_name_is_whole(server, open_page, ask, width):
    page = open_page(width=width, height=800, details=False)
    turn = ask(page, "What should I do before I light the kiln?")
    turn.locator(".chip").first.click()
    page.wait_for_selector("#panel mark")
    source = turn.locator(".source")
    assert source.locator(".numbers").inner_text() == "1 2 3"
    assert source.locator(".numbers").bounding_box()["height"] < 30
    title = source.locator(".title")
    assert title.inner_text() == "The museum of kilns, Lighting the kiln (museum.md)"
    assert title.evaluate("title => title.scrollWidth <= title.clientWidth")
    assert "Lighting the kiln" in page.locator("#panel-text h3").all_inner_texts()


def test_a_word_of_a_narrow_table_is_not_broken(server, open_page, ask):
    page = open_page(width=390, height=700, details=False)
    turn = ask(page, "What is the yearly fee of a student's friendship?")
    lines = "head => { const all = new Range(); all.selectNodeContents(head); return all.getClientRects().length; }"
    assert turn.locator(".answer thead th").first.evaluate(lines) == 1
    assert page.evaluate("document.documentElement.scrollWidth") == 390
