"""Keyboard, screen reader, themes, small screens; and the texts and streams that the page's modules cut."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser
MARBURY = "How about Marbury vs Madison?"


def focused(page):
    return page.evaluate("document.activeElement.id || document.activeElement.className")


def test_keyboard_only(page):
    assert focused(page) == "question"
    page.keyboard.type(MARBURY)
    page.keyboard.press("Enter")
    page.locator(".turn .chip").first.wait_for()
    page.wait_for_selector("body:not(.busy)")
    assert focused(page) == "question"
    # Back from the field: what happened, the source, the numbers.
    way = []
    while focused(page) != "chip":
        page.keyboard.press("Shift+Tab")
        way.append(page.evaluate("document.activeElement.tagName + '.' + document.activeElement.className"))
        assert len(way) < 14
    assert way[0].startswith("SUMMARY") and "BUTTON.source" in way
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel mark")
    assert focused(page) == "panel-title"
    page.keyboard.press("Escape")
    assert focused(page) == "chip"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("/")  # is text like any other, no shortcut
    page.locator("#question").focus()
    page.keyboard.type("Was it unanimous?")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("And who wrote it?")
    assert page.locator("#question").input_value() == "Was it unanimous?\nAnd who wrote it?"


def test_a_link_skips_to_the_question(page):
    assert page.evaluate("document.body.firstElementChild.textContent") == "Skip to the question"
    page.locator(".skip").focus()
    assert page.locator(".skip").bounding_box()["y"] == 0
    page.keyboard.press("Enter")
    assert focused(page) == "question" and page.locator("#welcome").is_visible()


def test_an_example_is_one_click_away(page):
    page.locator(".example").nth(1).click()
    page.locator(".turn .chip").first.wait_for()
    assert page.locator(".turn h2").inner_text() == MARBURY


def test_themes(open_page):
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = open_page(color_scheme="dark")
    light = open_page(color_scheme="light")
    assert dark.evaluate(paper) == "rgb(21, 24, 26)" and light.evaluate(paper) == "rgb(251, 250, 246)"
    light.click("#theme")
    assert light.evaluate(paper) == dark.evaluate(paper)
    light.reload()
    assert light.evaluate(paper) == dark.evaluate(paper)
    light.click("#theme")
    assert light.evaluate(paper) == "rgb(251, 250, 246)"


def test_a_phone(open_page, ask):
    page = open_page(width=380, height=740, has_touch=True)
    ask(page, MARBURY).locator(".chip").first.click()
    page.wait_for_selector("#panel mark")
    # The passage covers the page, which is out of reach until it is closed.
    assert page.evaluate("document.getElementById('main').inert")
    page.click("#close")
    assert not page.evaluate("document.getElementById('main').inert")
    page.click("#menu")
    page.locator("#list a").first.wait_for()
    assert focused(page) == "new"
    page.keyboard.press("Escape")
    assert focused(page) == "menu" and page.locator("#conversations").is_hidden()
    page.click("#menu")
    page.mouse.click(370, 400)
    page.wait_for_selector("#conversations", state="hidden")
    page.locator(".happened summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 380
    assert page.evaluate("document.getElementById('main').scrollWidth") == 380


def test_two_answers_on_a_phone(open_page, ask):
    page = open_page(width=390, height=844, has_touch=True)
    page.click("#compare")
    ask(page, MARBURY)
    turn = ask(page, "Was it unanimous?")
    # Both at once, since the page may still scroll.
    boxes = "slots => slots.map(slot => slot.getBoundingClientRect().toJSON())"
    first, second = turn.locator(".slot").evaluate_all(boxes)
    assert first["y"] == second["y"] and first["width"] > 280 and second["x"] < 350
    assert page.evaluate("document.getElementById('main').scrollWidth") == 390
    # What has the focus is never behind the field, in neither answer.
    for summary in turn.locator("summary").all():
        summary.click()
    bar = page.locator("#composer").bounding_box()["y"]
    for button in turn.locator("button").all():
        button.focus()
        place = button.bounding_box()
        assert place["y"] + place["height"] <= bar and 0 <= place["x"] < 390


@pytest.mark.parametrize(("width", "theme"), [(1400, "light"), (380, "dark")])
def test_axe_finds_nothing(open_page, ask, width, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(width=width, color_scheme=theme, bypass_csp=True)

    def findings():
        results = axe.run(page).response["violations"]
        # On a small screen a passage or the list covers the page, whose heading and landmarks are out of reach then.
        meant = {"serious", "critical"} | ({"moderate", "minor"} if width > 900 else set())
        nodes = [each["nodes"][0] for each in results if each["impact"] in meant]
        return [(node["html"], node["failureSummary"]) for node in nodes]

    assert findings() == []
    ask(page, "What is the capital of Mars?")
    page.click("#compare")
    turn = ask(page, "Who built the Mirador telescope?")
    turn.locator("summary").first.click()
    page.select_option("#pipeline", "asking")
    ask(page, "Do I qualify for SMP?")
    assert findings() == []
    turn.locator(".chip").first.click()
    page.wait_for_selector("#panel mark")
    assert findings() == []
    page.keyboard.press("Escape")
    if width < 900:
        page.click("#menu")
        assert findings() == []


TEXTS = """async () => {
    const text = await import("./static/text.js");
    const sentence = (text, start, end) => ({ text, start, end, item: "35".includes(text[0]), citations: [] });
    return {
        parts: text.parts("🪶a𝕏b", [[1, 3]]),
        joined: text.parts("abcdef", [[3, 5], [1, 4], [9, 12]]),
        slice: text.slice("🪶🪶 ab", 3, 5),
        fragment: text.fragment("https://example.org/a#b", "Well-known, safe & sound"),
        long: text.fragment("http://example.org/", Array.from({ length: 30 }, (_, n) => `w${n}`).join(" ")),
        half: text.fragment("http://example.org/", "a \\ud800"),
        bad: ["javascript:alert(1)", "data:text/html,x", "file:///etc", "x", ""].map((url) => text.fragment(url, "q")),
        named: [
            text.named({ id: "http://web.archive.org/web/2019id_/https://en.wikipedia.org/wiki/John_Marshall_p13" }),
            text.named({ title: "", id: "https://www.aafp.org/p249.html_p0", url: "" }),
            text.named({ title: "", id: "https://www.example.org/angora-goats.cfm/_p1", url: "" }),
            text.named({ title: "", id: "docs/a.pdf_p3", url: "" }),
            text.named({ title: "T", id: "x", url: "https://www.example.org/a" }),
        ],
        blocks: text.blocks({
            text: "So:3. Drain it. It drips. 5. Press it.",
            sentences: [
                sentence("So:", 0, 3), sentence("3. Drain it.", 3, 15), sentence("It drips.", 16, 25),
                sentence("5. Press it.", 26, 38),
            ],
        }).map(({ kind, items }) => [
            kind, items.map((own) => own[0].number ?? ""), items.map((own) => own.map((each) => each.gap + each.text)),
        ]),
        seconds: [0.0002, 0.0123, 2.34].map(text.seconds),
        tail: [text.tail("Two words."), text.tail("")],
    };
}"""


def test_texts_are_cut_at_code_points(page):
    got = page.evaluate(TEXTS)
    assert [(part["text"], part["marked"]) for part in got["parts"]] == [("🪶", False), ("a𝕏", True), ("b", False)]
    assert [part["text"] for part in got["joined"]] == ["a", "bcd", "e", "f"]
    assert got["slice"] == "ab"
    assert got["fragment"] == "https://example.org/a#b:~:text=Well%2Dknown%2C%20safe%20%26%20sound"
    assert got["long"] == "http://example.org/#:~:text=w0%20w1%20w2%20w3%20w4%20w5,w24%20w25%20w26%20w27%20w28%20w29"
    assert got["half"] == "http://example.org/#:~:text=a%20%EF%BF%BD"
    assert got["bad"] == [""] * 5
    assert [(each["title"], each["place"]) for each in got["named"]] == [
        ("John Marshall", "en.wikipedia.org"), ("aafp.org", ""),
        ("Angora goats", "example.org"), ("docs/a.pdf_p3", ""), ("T", "example.org")
    ]  # fmt: skip
    assert got["blocks"] == [
        ["p", [""], [["So:"]]],
        ["ol", ["3", "5"], [["Drain it.", " It drips."], ["Press it."]]],
    ]
    assert got["seconds"] == ["under 1 ms", "12 ms", "2.3 s"]
    assert got["tail"] == [["Two ", "words."], ["", ""]]


STREAM = """async (ends) => {
    const { events } = await import("./static/api.js");
    const bytes = new TextEncoder().encode([": ping", "", "event: rewrite", 'data: {"text":', 'data: "🪶"}', "",
        ": ping", "event: answer", 'data: {"n": 1}', "", ""].join(ends));
    const made = [];
    for (let size = 1; size <= bytes.length; size += 1) {
        const start = (stream) => {
            for (let at = 0; at < bytes.length; at += size) stream.enqueue(bytes.slice(at, at + size));
            stream.close();
        };
        const heard = [];
        for await (const each of events(new ReadableStream({ start }))) heard.push([each.event, each.data]);
        made.push(JSON.stringify(heard));
    }
    return [...new Set(made)];
}"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_events_are_read_however_they_are_cut(page, ends):
    assert page.evaluate(STREAM, ends) == ['[["rewrite",{"text":"🪶"}],["answer",{"n":1}]]']
