"""Five tasks of somebody who has not seen the page, with the clicks that each takes (docs/reference/page.md)."""

from __future__ import annotations

import sqlite3

import pytest

from convqa.indexing import index_sources
from tests.browser.conftest import Server
from tests.browser.test_add import PICTURES, picture

pytestmark = pytest.mark.browser
LEAVE = """# Leave

## Annual leave

Every employee has 28 days of leave a year. Part-time employees have fewer.

## Carrying over

Leave that is not taken expires in March.

## Sick leave

Call your manager before nine on the first day.
"""
PAGES = """<title>Coffee machine</title><h1>Welcome</h1><p>Read this manual before you use the machine.</p>
<h2>Safety</h2><p>The machine is made for household use.</p>
<div style="break-before: page"></div>
<h2>Descaling</h2><p>The machine has to be descaled every two months with citric acid.</p>
<p>Never use vinegar, because it attacks the seals.</p>"""


class Person:
    """Somebody before a page, whose clicks are counted."""

    def __init__(self, page):
        self.page = page
        self.clicks = 0

    def click(self, what):
        what.click()
        self.clicks += 1


@pytest.fixture(scope="module")
def handbook(browser, tmp_path_factory):
    """A server of a folder with a manual in PDF and a page in Markdown."""
    folder = tmp_path_factory.mktemp("five")
    papers = folder / "papers"
    papers.mkdir()
    (papers / "leave.md").write_text(LEAVE)
    press = browser.new_page()
    press.set_content(PAGES)
    press.pdf(path=papers / "manual.pdf", format="A5")
    press.close()
    index_sources([papers], str(folder / "handbook"))
    (folder / "server").mkdir()
    fields = {
        "collection": str(folder / "handbook"),
        "originals": str(papers),
        "pipelines": {"talk": {"title": "The handbook"}},
    }
    server = Server(folder / "server", fields, folder / "cache").start()
    server.kept = folder / "server" / "conversations.sqlite"
    yield server
    server.stop()


@pytest.fixture
def person(handbook, open_page):
    return Person(open_page(handbook.url, details=False, permissions=["clipboard-read", "clipboard-write"]))


def test_mend_a_misread_question(person, ask):
    ask(person.page, "What is annual leave?")
    turn = ask(person.page, "When does it expire?")
    person.click(turn.get_by_role("button", name="Correct"))
    person.page.locator(".edit textarea").fill("When does leave that is not taken expire?")
    person.page.keyboard.press("Enter")
    person.page.wait_for_selector("body:not(.busy)")
    assert "March" in person.page.locator(".turn").nth(1).locator(".answer").inner_text() and person.clicks == 1


def test_find_the_sentence_in_the_pdf(person, ask):
    turn = ask(person.page, "How often does the machine have to be descaled?")
    person.click(turn.locator(".chip").first)
    person.page.wait_for_selector("#panel mark")
    assert "every two months" in person.page.locator("#panel mark").inner_text()
    picture(person.page, "pdf-passage-1400-light")
    link = person.page.get_by_role("link", name="Open original")
    assert "#page=2&search=" in link.get_attribute("href")
    with person.page.context.expect_page() as opened:
        person.click(link)
    assert "api/originals/manual.pdf" in opened.value.url and person.clicks == 2
    if PICTURES:
        opened.value.wait_for_timeout(6000)
    picture(opened.value, "pdf-original-1400-light")


def test_copy_an_answer_with_its_source(person, ask):
    turn = ask(person.page, "How often does the machine have to be descaled?")
    person.click(turn.get_by_role("button", name="Copy the answer with its sources"))
    turn.get_by_text("Copied.").wait_for()
    copied = person.page.evaluate("navigator.clipboard.readText()")
    assert "every two months" in copied and "Descaling (manual.pdf, page 2)" in copied and person.clicks == 1


def test_ask_one_document_only(person, ask):
    person.click(person.page.get_by_role("button", name="Choose documents"))
    person.click(person.page.get_by_label("leave.md"))
    person.click(person.page.get_by_role("button", name="Ask these"))
    turn = ask(person.page, "How often does the machine have to be descaled?")
    assert "I found nothing about this in leave.md." in turn.inner_text() and person.clicks == 3


def test_reopen_the_talk_of_yesterday(person, handbook, ask):
    ask(person.page, "How many days of leave do employees have?")
    ask(person.page, "Who is called on the first day of sick leave?")
    with sqlite3.connect(handbook.kept) as kept:
        kept.execute("UPDATE conversations SET updated = strftime('%Y-%m-%dT%H:%M:%f+00:00', updated, '-1 day')")
    person.page.goto(handbook.url)
    assert person.page.locator("#list .day").first.inner_text() == "Yesterday"
    person.click(person.page.locator("#list li a").first)
    person.page.locator(".turn").nth(1).wait_for()
    assert "28 days" in person.page.locator(".turn").first.inner_text() and person.clicks == 1


def test_an_answer_offers_no_questions(handbook, open_page, ask):
    turn = ask(open_page(handbook.url, details=False), "How many days of leave do employees have?")
    assert "28 days" in turn.inner_text() and turn.locator(".example").count() == 0
