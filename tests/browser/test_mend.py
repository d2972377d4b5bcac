"""Misunderstandings can be mended, answers can be used, and documents stay alive."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from convqa.indexing import index_sources
from tests.browser.conftest import KEY, Server
from tests.browser.test_talk import MARBURY, TILTED, URANUS, conversation_of

pytestmark = pytest.mark.browser
FILES = {
    "leave.md": "# Leave\n\nEvery employee has 28 days of leave a year.\n\nLeave that is not taken expires in March.\n",
    "house/parking.md": "# Parking\n\nThe garage opens at six in the morning. Visitors need a permit.\n",
    "house/pets.txt": "Dogs may come to the office on Fridays.\n",
}


@pytest.fixture
def handbook(tmp_path):
    """A server of a folder of documents, with ``folder`` and ``index()``."""
    folder = tmp_path / "documents"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    collection = str(tmp_path / "handbook")
    index_sources([folder], collection)
    (tmp_path / "server").mkdir()
    about = {"title": "The handbook", "about": "Rules for staff."}
    fields = {"collection": collection, "originals": str(folder), "pipelines": {"talk": about}}
    server = Server(tmp_path / "server", fields, tmp_path / "cache").start()
    server.folder = folder
    server.index = lambda: index_sources([folder], collection)
    yield server
    server.stop()


def kept_questions(server, page):
    return [turn["question"] for turn in server.get(f"/api/conversations/{conversation_of(page)}")["turns"]]


def test_a_question_is_edited_and_what_followed_is_dropped(page, server, ask):
    ask(page, "How about Marbury?")
    ask(page, "Was it unanimous?")
    first = page.locator(".turn").first
    first.get_by_role("button", name="Edit the question").click()
    assert "The question after it will be dropped." in first.inner_text()
    page.keyboard.press("Escape")
    assert first.locator(".edit").count() == 0 and page.locator(".turn").count() == 2
    first.get_by_role("button", name="Edit the question").click()
    first.locator(".edit textarea").fill(MARBURY)
    page.keyboard.press("Enter")
    page.wait_for_selector("body:not(.busy) .turn .answer")
    assert page.locator(".turn h2").all_inner_texts() == [MARBURY]
    assert kept_questions(server, page) == [MARBURY] and page.title() == f"{MARBURY} · convqa"
    ask(page, "Was it unanimous?")
    assert kept_questions(server, page) == [MARBURY, "Was it unanimous?"]


def test_how_a_question_was_understood_is_corrected(page, server, ask):
    ask(page, URANUS)
    turn = ask(page, TILTED)
    turn.get_by_role("button", name="Correct").click()
    page.locator(".edit textarea").fill("Was the decision in Marbury v. Madison unanimous?")
    page.get_by_role("button", name="Ask again").click()
    page.wait_for_selector("body:not(.busy)")
    assert page.locator(".understood").count() == 0
    assert kept_questions(server, page)[1:] == ["Was the decision in Marbury v. Madison unanimous?"]


def test_a_question_is_asked_as_typed(page, server, ask):
    ask(page, URANUS)
    ask(page, TILTED).get_by_role("button", name="Ask as typed").click()
    page.wait_for_selector("body:not(.busy)")
    kept = server.get(f"/api/conversations/{conversation_of(page)}")["turns"]
    assert kept[1]["rewrite"] == {"text": TILTED, "added": [], "act": ""} and len(kept) == 2


def test_a_new_topic_begins_another_conversation(page, server, ask):
    ask(page, URANUS)
    turn = ask(page, TILTED)
    before = conversation_of(page)
    turn.get_by_role("button", name="New topic").click()
    page.wait_for_function("before => location.hash && !location.hash.includes(before)", arg=before)
    page.wait_for_selector("body:not(.busy)")
    assert conversation_of(page) != before and kept_questions(server, page) == [TILTED]


def test_the_arrows_recall_questions(page, ask):
    ask(page, MARBURY)
    ask(page, "Was it unanimous?")
    field = page.locator("#question")
    for key, expected in (("ArrowUp", "Was it unanimous?"), ("ArrowUp", MARBURY), ("ArrowDown", "Was it unanimous?")):
        page.press("#question", key)
        assert field.input_value() == expected
    page.press("#question", "ArrowDown")
    assert field.input_value() == ""
    page.fill("#question", "Mine")
    page.press("#question", "ArrowUp")
    assert field.input_value() == "Mine"


def test_an_answer_is_copied_with_its_sources_and_linked(open_page, ask):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    ask(page, MARBURY)
    turn = ask(page, "Was it unanimous?")
    turn.get_by_role("button", name="Copy the answer").click()
    turn.get_by_text("Copied.").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("**Was it unanimous?**\n\nThe unanimous opinion")
    assert re.search(r"\[1\]\n\nSources:\n\n- \[1\] \S.*: “The unanimous opinion.*”\n", text)
    turn.get_by_role("button", name="Copy a link").click()
    turn.get_by_text("Link copied.").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == f"{page.url}&t=2"
    other = open_page(link)
    other.locator(".turn").nth(1).wait_for()
    # What is selected by hand has no number glued to a word.
    selected = "getSelection().selectAllChildren(document.querySelector('.answer')); getSelection().toString()"
    assert not re.search(r"[a-z.]\d+\s*$", page.evaluate(selected), re.M)


def test_other_sentences_open_in_their_passages(page, ask):
    turn = ask(page, MARBURY)
    turn.locator(".others summary").click()
    near = turn.locator(".others .near").first
    words = near.locator(".words").inner_text()
    near.click()
    page.wait_for_selector("#panel mark")
    assert page.locator("#panel mark").inner_text()[:20] in words


def test_feedback_is_kept_and_listed(page, open_page, ask):
    turn = ask(page, MARBURY)
    turn.get_by_role("button", name="Bad answer").click()
    page.get_by_label("What is wrong?").fill("It is <b>too</b> short")
    page.keyboard.press("Enter")
    turn.get_by_text("Thank you.").wait_for()
    page.reload()
    page.locator(".turn [aria-pressed=true]").wait_for()
    assert page.locator(".turn [aria-pressed=true]").get_attribute("aria-label") == "Bad answer"
    assert "“It is <b>too</b> short”" in page.locator(".tools").inner_text()
    assert "1 bad" in page.locator("#list li").first.inner_text()
    page.locator(".turn [aria-pressed=true]").click()
    page.wait_for_selector(".turn [aria-pressed=true]", state="detached")


def test_conversations_are_renamed_searched_and_grouped(page, ask):
    ask(page, MARBURY)
    item = page.locator("#list li").filter(has=page.locator("[aria-current]"))
    assert page.locator("#list .day").first.inner_text() == "Today"
    item.hover()
    item.get_by_role("button", name="Rename").click()
    page.fill("#rename-value", "A case of law")
    page.keyboard.press("Enter")
    page.locator("#list .title", has_text="A case of law").wait_for()
    assert page.title() == "A case of law · convqa"
    for _ in range(5):
        page.click("#new")
        ask(page, "Thank you!")
    page.fill("#search", "law case")
    assert page.locator("#list li:visible .title").all_inner_texts() == ["A case of law"]
    page.fill("#search", "")
    assert page.locator("#list li:visible").count() > 5


def test_details_are_behind_a_switch(open_page, ask):
    page = open_page(details=False)
    turn = ask(page, MARBURY)
    assert not turn.locator(".happened").is_visible() and not page.locator("#pipeline").is_visible()
    turn.locator(".chip").first.click()
    page.wait_for_selector("#panel mark")
    assert "_p" not in page.locator("#panel").inner_text()
    page.keyboard.press("Escape")
    page.click("#details")
    assert turn.locator(".happened").is_visible() and page.locator("#pipeline").is_visible()
    page.reload()
    page.locator(".turn .happened").wait_for()


def test_characters_are_counted_before_the_limit(page):
    page.fill("#question", "x" * 3990)
    assert page.locator("#count").inner_text() == "10 characters left"
    page.fill("#question", "x" * 4001)
    assert page.locator("#count").inner_text() == "1 character too long" and page.locator("#send").is_disabled()
    page.fill("#question", "x")
    assert page.locator("#count").is_hidden() and page.locator("#send").is_enabled()


def test_some_documents_are_asked_only(open_page, handbook, ask):
    page = open_page(handbook.url, details=False)
    assert page.locator("#hello").inner_text() == "Ask The handbook"
    assert page.locator("#about").inner_text().startswith("Rules for staff. Each number")
    page.click("#documents")
    page.get_by_label("house/").check()
    page.get_by_role("button", name="Ask these").click()
    page.locator("#scope", has_text="Only house/parking.md, house/pets.txt").wait_for()
    turn = ask(page, "How many days of leave do employees have?")
    assert "I found nothing about this in house/parking.md, house/pets.txt." in turn.inner_text()
    ranking = handbook.get(f"/api/conversations/{conversation_of(page)}")["turns"][0]["ranking"]
    assert {hit["id"].rpartition("_p")[0] for hit in ranking} <= {"house/parking.md", "house/pets.txt"}
    page.reload()
    page.locator("#scope button").click()
    assert page.locator("#scope").is_hidden()
    assert "28 days" in ask(page, "How many days of leave do employees have?").locator(".answer").inner_text()


def test_a_source_opens_the_original(open_page, handbook, ask):
    page = open_page(handbook.url, details=False)
    turn = ask(page, "When does the garage open?")
    assert turn.locator(".source .title").inner_text() == "Parking (house/parking.md)"
    assert "opens at six" in turn.locator(".chip").first.get_attribute("title")
    turn.locator(".chip").first.click()
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Open original").click()
    assert "The garage opens at six" in opened.value.locator("body").inner_text()
    assert opened.value.url.startswith(f"{handbook.url}api/originals/house%2Fparking.md_p1?pipeline=talk")


def test_a_passage_that_has_changed_is_said(open_page, handbook, ask):
    page = open_page(handbook.url)
    turn = ask(page, "When does the garage open?")
    (handbook.folder / "house" / "parking.md").write_text("# Parking\n\nThe garage is closed for ever.\n")
    (handbook.folder / "bikes.txt").write_text("Bicycles are parked in the cellar.\n")
    handbook.index()
    until = time.monotonic() + 20
    while handbook.get("/api/pipelines")["pipelines"][0]["passages"] == 3:
        assert time.monotonic() < until
        time.sleep(0.1)
    turn.locator(".chip").first.click()
    page.get_by_text("This passage has changed since.").wait_for()
    assert "The garage opens at six" in page.locator("#panel-text .note").inner_text()
    page.keyboard.press("Escape")
    assert "cellar" in ask(page, "Where are bicycles parked?").locator(".answer").inner_text()


def test_a_link_opens_a_passage(open_page, handbook):
    page = open_page(f"{handbook.url}#p=house%2Fpets.txt_p1&pipeline=talk")
    page.get_by_text("Dogs may come to the office").wait_for()
    assert page.locator("#panel-title").inner_text() == "pets"


def test_below_1100_pixels_the_cited_sentence_stays_in_view(open_page, ask):
    page = open_page(width=820, height=900)
    turn = ask(page, MARBURY)
    sentence = turn.locator(".sentence").last
    sentence.locator(".chip").first.click()
    page.wait_for_selector("#panel mark")
    place, panel = sentence.bounding_box(), page.locator("#panel").bounding_box()
    assert place["y"] >= 0 and place["y"] + place["height"] <= panel["y"]


@pytest.fixture
def signed_in(handbook, tmp_path):
    """The address of a stand-in for a proxy that signs people in: it adds the key and the name to every request."""
    config = json.loads((tmp_path / "server" / "server.yaml").read_text())
    config |= {
        "keys": {"proxy": {"env": "TEST_KEY"}},
        "users": {"header": "X-Forwarded-Email", "keys": ["proxy"], "others": {}},
        "conversations": str(tmp_path / "people.sqlite"),
    }
    (tmp_path / "proxied").mkdir()
    server = Server(tmp_path / "proxied", config, tmp_path / "cache").start()

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name: self.headers[name] for name in ("Accept", "Content-Type") if name in self.headers}
            headers |= {"Authorization": f"Bearer {KEY}", "X-Forwarded-Email": "anna@example.org"}
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            connection.request(self.command, self.path, body, headers)
            reply = connection.getresponse()
            data = reply.read()
            connection.close()
            self.send_response(reply.status)
            for name in ("Content-Type", "Content-Security-Policy"):
                self.send_header(name, reply.headers.get(name, ""))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_PUT = do_GET

        def log_message(self, *_):
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{proxy.server_port}/"
    proxy.shutdown()
    proxy.server_close()
    server.stop()


def test_who_is_signed_in_by_a_proxy_is_asked_for_no_key(open_page, signed_in, ask):
    page = open_page(signed_in, details=False)
    assert page.locator("#user").inner_text() == "anna@example.org"
    turn = ask(page, "When does the garage open?")
    turn.get_by_role("button", name="Good answer").click()
    page.get_by_label("What is good?").wait_for()
    page.reload()
    page.locator(".turn [aria-pressed=true]").wait_for()
    assert not page.locator("#key").is_visible() and page.evaluate("sessionStorage.length") == 0


@pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (390, "dark")])
def test_axe_finds_nothing_in_forms_and_dialogs(open_page, handbook, ask, width, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(handbook.url, width=width, details=False, color_scheme=theme, bypass_csp=True)

    def findings():
        serious = [each for each in axe.run(page).response["violations"] if each["impact"] in {"serious", "critical"}]
        return [(each["nodes"][0]["html"], each["nodes"][0]["failureSummary"]) for each in serious]

    ask(page, "How many days of leave do I have?")
    turn = ask(page, "When does it expire?")
    turn.get_by_role("button", name="Bad answer").click()
    turn.locator(".comment form").wait_for()
    page.locator(".turn").first.get_by_role("button", name="Edit the question").click()
    assert findings() == []
    page.click("#documents")
    page.wait_for_selector("#choose[open]")
    assert findings() == []
    page.get_by_role("checkbox", name="leave.md").check()
    page.get_by_role("button", name="Ask these").click()
    page.locator("#scope", has_text="Only leave.md").wait_for()
    ask(page, "Who painted the ceiling of the chapel in Rome?").locator(".answer.none").wait_for()
    assert findings() == []


LAID_OUT = """async () => {
    const text = await import("./static/text.js");
    const table = "Fees 😀\\n| a | b |\\n|---|---|\\n| 1 | 2 |\\nEnd.";
    const wall = "The garage opens at six in the morning. ".repeat(30).trim();
    return {
        table: text.laidOut(table, [[27, 36]]),
        plain: text.laidOut("a😀b", [[1, 2]]),
        headed: text.laidOut("😀\\n\\nPay\\n\\nOn the 26th.", [[8, 10]], [3]),
        wall: text.paragraphs(wall).split("\\n\\n").length,
        same: text.paragraphs(wall).replaceAll("\\n\\n", " ") === wall,
        named: text.named({ title: "", id: "17", url: "", quote: "One two three four five six seven eight nine." }),
        day: [text.day(new Date().toISOString()), text.day("2020-02-03T12:00:00Z")],
    };
}"""


def test_passages_are_laid_out(page):
    got = page.evaluate(LAID_OUT)
    table = {"rows": [{"cells": ["a", "b"], "marked": False}, {"cells": ["1", "2"], "marked": True}]}
    assert got["table"] == [{"text": "Fees 😀\n", "marked": False}, table, {"text": "End.", "marked": False}]
    assert [(part["text"], part["marked"]) for part in got["plain"]] == [("a", False), ("😀", True), ("b", False)]
    assert got["headed"][1:3] == [{"heading": "Pay"}, {"text": "On", "marked": True}]
    assert got["wall"] > 2 and got["same"]
    assert got["named"]["title"] == "One two three four five six seven eight …"
    assert got["day"] == ["Today", "February 3, 2020"]
