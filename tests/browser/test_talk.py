"""The page as a visitor uses it: asking, citations, comparison, kept conversations, doubt, errors."""

from __future__ import annotations

import re
from functools import partial
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tests.browser.conftest import EXAMPLES

pytestmark = pytest.mark.browser
MARBURY = "How about Marbury vs Madison?"
URANUS, TILTED = "What makes Uranus so unusual?", "Why is it tilted?"


def conversation_of(page):
    return unquote(re.search("#c=(.+)", page.url)[1])


def test_ask_follow_up_and_open_a_citation(page, server, ask):
    first = ask(page, URANUS)
    assert "Uranus" in first.locator(".answer").inner_text() and first.locator(".understood").count() == 0
    second = ask(page, TILTED)
    assert second.locator(".understood ins").inner_text() == "Uranus"
    assert page.locator("#status").inner_text().startswith("Unlike the other planets")

    chip = second.locator(".chip").first
    chip.click()
    page.wait_for_selector("#panel mark")
    turn = server.get(f"/api/conversations/{conversation_of(page)}")["turns"][1]
    citation = next(each for each in turn["citations"] if str(each["number"]) == chip.inner_text())
    assert page.locator("#panel mark").evaluate("mark => mark.textContent") == citation["quote"] != ""
    assert chip.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_hidden() and chip.evaluate("chip => chip === document.activeElement")
    assert page.foreign == []


def test_what_happened(page, server, ask):
    ask(page, MARBURY)
    turn = ask(page, "Was it unanimous?")
    turn.locator(".happened summary").click()
    kept = server.get(f"/api/conversations/{conversation_of(page)}")["turns"][1]
    assert turn.locator(".searched").inner_text() == kept["rewrite"]["text"]
    rows = turn.locator(".happened table").first.locator("tbody tr")
    assert rows.count() == len(kept["ranking"]) == 20
    cited = {citation["passage"] for citation in kept["citations"]}
    marked = [bool(row.locator("td.numbers").inner_text()) for row in rows.all()]
    assert marked == [hit["id"] in cited for hit in kept["ranking"]]
    assert set(turn.locator(".times th").all_inner_texts()) == set(kept["timings"])
    rows.nth(2).locator("button").click()
    page.wait_for_selector("#panel-meta dd")
    assert kept["ranking"][2]["id"] in page.locator("#panel-meta").inner_text()
    assert page.locator("#panel mark").count() == 0


def test_compare_two_pipelines(page, server, ask):
    ask(page, URANUS)
    page.click("#compare")
    turn = ask(page, TILTED)
    slots = turn.locator(".slot")
    assert slots.locator("h3.pipeline").all_inner_texts() == ["talk", "hybrid"]
    for slot in slots.all():
        assert "Uranus" in slot.locator(".understood ins").inner_text()
        assert slot.locator(".chip").count() > 0
    # The second pipeline's reply is for comparison, and is not kept.
    kept = server.get(f"/api/conversations/{conversation_of(page)}")["turns"]
    assert [turn["pipeline"] for turn in kept] == ["talk", "talk"]
    slots.nth(1).locator(".chip").first.click()
    page.wait_for_selector("#panel mark")


def test_a_passage_whose_id_is_a_path_upwards_opens(page, server, ask):
    turn = ask(page, "When was the Zandoli lighthouse painted?")
    turn.locator(".chip").first.click()
    page.wait_for_selector("#panel mark")
    assert "1932" in page.locator("#panel mark").inner_text()


def test_the_page_survives_an_address_that_is_none(page, server, ask):
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for fragment in ("#c=%", "#c=%E0%A4%A", "#c=", "#%"):
        page.goto(server.url + fragment)
        page.reload()
        page.locator("#question").wait_for()
    assert errors == [] and "Marbury" in ask(page, MARBURY).locator(".answer").inner_text()


def test_reload_finds_the_conversation(page, open_page, server, ask):
    ask(page, MARBURY)
    ask(page, "Was it unanimous?")
    said = page.locator(".answer").all_inner_texts()
    page.reload()
    page.locator(".turn").nth(1).wait_for()
    assert page.locator(".answer").all_inner_texts() == said
    assert page.title() == f"{MARBURY} · convqa"
    turn = ask(page, "Who was John Marshall?")
    assert turn.locator(".chip").count() > 0

    other = open_page()
    entry = other.locator("#list a").first
    assert entry.inner_text().startswith(MARBURY) and "3 turns" in entry.inner_text()
    entry.click()
    other.locator(".turn").nth(2).wait_for()
    assert entry.get_attribute("aria-current") == "page"
    other.click("#new")
    assert other.locator("#welcome").is_visible() and other.locator(".turn").count() == 0


def test_delete(page, ask):
    ask(page, MARBURY)
    item = page.locator("#list li").filter(has=page.locator("[aria-current]"))
    item.hover()
    number = page.locator("#list li").count()
    item.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Keep it").click()
    assert page.locator("#list li").count() == number
    item.hover()
    item.get_by_role("button", name="Delete").click()
    page.locator("#sure .danger").click()
    page.wait_for_selector("#welcome:not([hidden])")
    page.wait_for_function("number => document.querySelectorAll('#list li').length === number", arg=number - 1)


def test_older_conversations_are_shown_when_asked_for(page, ask):
    def listed(route):
        times = {"created": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:00:00Z"}
        number = min(130, int(parse_qs(urlsplit(route.request.url).query)["limit"][0]))
        kept = [
            {"id": f"c{place}", "title": f"{place}", "pipeline": "talk", "turns": 1, **times} for place in range(number)
        ]
        route.fulfill(json={"conversations": kept})

    assert not page.locator("#older").is_visible()
    page.route("**/api/conversations?*", listed)
    ask(page, MARBURY)
    page.wait_for_function("number => document.querySelectorAll('#list li').length === number", arg=100)
    page.click("#older")
    page.wait_for_function("number => document.querySelectorAll('#list li').length === number", arg=130)
    assert not page.locator("#older").is_visible()


def test_a_passage_with_a_script_is_text(page, ask):
    ask(page, "<img src=x onerror='window.isHacked = true'> thanks <script>window.isHacked = true</script>")
    page.click("#new")
    turn = ask(page, "Who made the Quillfeather stylus?")
    quote = "The Quillfeather stylus was made by Ada Brunner & sons, with 😀 blue-black ink, in 1874."
    assert quote in turn.locator(".answer").inner_text()
    turn.locator(".sentence").filter(has_text="Ada Brunner").locator(".chip").click()
    page.wait_for_selector("#panel mark")
    # Before the quote stand characters that are two units in JavaScript, and one for the server.
    assert page.locator("#panel mark").evaluate("mark => mark.textContent") == quote
    assert "Write <script>window.isHacked = true</script><img" in page.locator("#panel-text").inner_text()
    assert page.locator("#panel-title").inner_text() == "🪶 The <b>Quillfeather</b> manual"
    assert "<i>Ada</i>" in page.locator("#panel-meta").inner_text()
    link = page.locator("#panel-address a").get_attribute("href")
    assert link.startswith(
        "https://example.org/quill?page=1&part=2#use:~:text=The%20Quillfeather%20stylus%20was%20made%20by"
    )
    assert link.endswith(",with%20%F0%9F%98%80%20blue%2Dblack%20ink%2C%20in%201874.")
    page.reload()
    page.locator(".turn .chip").first.wait_for()
    for tags in ("main img", "main script", "nav img", "nav script", "#panel img", "#panel script"):
        assert page.locator(tags).count() == 0
    assert page.evaluate("window.isHacked") is None


def test_an_answer_of_a_language_model(page, ask):
    """Its items are a list, its tags are text, its notes are said. The reply is made up; the page does not know."""
    texts = ["To do so:", "1. <script>window.isHacked = true</script> 🪶", "3. Press <b>it</b>.", "Not sure, though."]
    places = [len(" ".join(texts[:number])) + (number > 0) for number in range(len(texts))]
    sentences = [
        {
            "text": text,
            "start": start,
            "end": start + len(text),
            "item": text[0] in "13",
            "citations": [1] if number else [],
        }
        for number, (text, start) in enumerate(zip(texts, places, strict=True))
    ]
    notes = [
        "not sure",
        "caveat: The language model is <i>away</i>.",
        "generative: foreign address",
        "generative: foreign address",
    ]
    answer = {"kind": "answer", "text": " ".join(texts), "label": "", "reason": "", "score": 0.2, "nearest": []}
    citation = {"number": 1, "passage": "mirador", "title": "", "url": "", "start": None, "end": None, "quote": ""}
    turn = {"conversation": None, "number": 1, "pipeline": "talk", "question": "How?", "rewrite": None, "ranking": []}
    turn |= {"answer": answer | {"sentences": sentences, "notes": notes}, "citations": [citation], "timings": {}}
    turn |= {"caveat": "The language model is <i>away</i>."}
    page.route("**/api/turn", lambda route: route.fulfill(json=turn | {"error": None}))
    made = ask(page, "How?")
    assert made.locator("ol li").all_inner_texts() == [
        "<script>window.isHacked = true</script> 🪶1",
        "Press <b>it</b>.1 Not sure, though.1",
    ]
    assert made.locator("ol li").evaluate_all("items => items.map((item) => item.value)") == [1, 3]
    assert made.locator(".answer > p").all_inner_texts() == ["To do so:"]
    assert made.locator(".flag").inner_text().startswith("Not sure")
    assert made.locator(".note").inner_text() == "The language model is <i>away</i>."
    made.locator("summary").click()
    assert made.locator(".happened li").inner_text() == "generative: foreign address (2 times)"
    assert page.evaluate("window.isHacked") is None
    # A citation of a passage as a whole marks nothing.
    made.locator(".chip").first.click()
    page.wait_for_selector("#panel-meta dd")
    assert page.locator("#panel mark").count() == 0


def test_an_address_that_is_a_script_is_no_link(page, ask):
    turn = ask(page, "Who built the Mirador telescope?")
    turn.locator(".chip").first.click()
    page.wait_for_selector("#panel mark")
    assert page.locator("#panel a").count() == 0


def test_the_next_citation_is_one_click_away(page, ask):
    turn = ask(page, "How about Marbury vs Madison?")
    turn.locator(".chip").first.click()
    page.wait_for_selector("#panel mark")
    page.click("#next")
    page.get_by_text("Source 2", exact=True).wait_for()
    assert turn.locator("[aria-expanded=true]").inner_text() == "2"


def test_no_answer_doubt_and_small_talk(page, ask):
    turn = ask(page, "What is the capital of Mars?")
    assert turn.locator(".answer").inner_text().startswith("I found no sure answer to this in the passages.")
    closest = turn.locator(".closest q").inner_text()
    turn.locator(".closest").click()
    page.wait_for_selector("#panel mark")
    assert page.locator("#panel mark").inner_text() in closest
    page.keyboard.press("Escape")
    turn.locator(".near").first.click()
    page.wait_for_selector("#panel mark")
    page.keyboard.press("Escape")
    talk = ask(page, "thanks")
    assert "You're welcome." in talk.locator(".answer").inner_text()
    assert f"You can ask about the passages, for example “{EXAMPLES[0]}”" in talk.inner_text()
    ask(page, "Who built the Mirador telescope?")
    assert "Said before" in ask(page, "When was it built?").locator(".flag").inner_text()


def test_a_question_back_looks_like_one(page, ask):
    page.select_option("#pipeline", "asking")
    turn = ask(page, "Do I qualify for SMP?")
    assert turn.locator(".flag").inner_text() == "A question for you"
    assert turn.locator(".asks").inner_text().startswith("Do you earn on average at least £113 a week?")
    field = page.get_by_label("Your reply")
    assert field.evaluate("field => field === document.activeElement")
    reply = ask(page, "Yes, about £200")
    assert reply.locator(".asks").inner_text().startswith("Do you give the correct notice?")


def test_the_server_goes_and_comes_back(page, server, ask):
    ask(page, MARBURY)
    server.stop()
    turn = ask(page, "Was it unanimous?")
    assert "The server cannot be reached" in turn.locator(".mishap").inner_text()
    assert page.locator("#away").is_visible()
    server.start()
    page.wait_for_selector("#away", state="hidden")
    turn.get_by_role("button", name="Try again").click()
    turn.locator(".answer").wait_for()
    assert "unanimous opinion" in turn.locator(".answer").inner_text()
    assert len(server.get(f"/api/conversations/{conversation_of(page)}")["turns"]) == 2


def test_an_answer_that_was_lost_on_the_way_is_not_made_twice(page, server, ask):
    def lose(route):
        route.fetch()
        route.abort()

    before = len(server.get("/api/conversations")["conversations"])
    for number, question in enumerate([MARBURY, "Was it unanimous?"], 1):
        page.route("**/api/turn", lose)
        turn = ask(page, question)
        page.unroute("**/api/turn")
        turn.get_by_role("button", name="Try again").click()
        page.locator(".turn").nth(number - 1).locator(".answer").wait_for()
        assert len(server.get(f"/api/conversations/{conversation_of(page)}")["turns"]) == number
    assert len(server.get("/api/conversations")["conversations"]) == before + 1


def refuse(route, status, body):
    route.fulfill(status=status, json=body)


def test_a_turn_that_failed_can_be_asked_again(page, ask):
    failed = {"conversation": None, "pipeline": "talk", "question": MARBURY, "answer": None, "ranking": []}
    failed |= {"error": {"stage": "reader", "message": "The reader failed to process this question."}}
    page.route("**/api/turn", lambda route: route.fulfill(json=failed))
    turn = ask(page, MARBURY)
    assert "The reader failed to process this question." in turn.locator(".mishap").inner_text()
    page.unroute("**/api/turn")
    turn.get_by_role("button", name="Try again").click()
    turn.locator(".answer").wait_for()
    page.wait_for_selector("body:not(.busy)")
    for status, said in [(422, "refused this"), (500, "went wrong on the server"), (409, "continued elsewhere")]:
        body = {"error": {"message": "question: too long.", "type": "invalid_request_error", "code": status}}
        page.route("**/api/turn", partial(refuse, status=status, body=body))
        assert said in ask(page, "Was it unanimous?").locator(".mishap").inner_text()
        page.unroute("**/api/turn")
    page.get_by_role("button", name="Reload").click()
    page.locator(".turn").nth(1).wait_for(state="detached")
    page.locator(".turn .answer").wait_for()
    assert page.locator(".turn").count() == 1


def test_a_stop_ends_the_wait(page, ask):
    page.route("**/api/turn", lambda route: None)
    turn = ask(page, MARBURY, settled=False)
    turn.locator(".waiting").wait_for()
    page.get_by_role("button", name="Stop").click()
    assert "Stopped" in turn.locator(".mishap").inner_text()


def test_a_key_is_asked_for_and_kept_in_the_tab(make_server, open_page, ask):
    server = make_server("keys")
    page = open_page(server.url, details=False)
    page.fill("#key-value", "not-this-one-surely")
    page.keyboard.press("Enter")
    page.get_by_text("was not accepted").wait_for()
    page.fill("#key-value", "a-key-for-the-tests")
    page.keyboard.press("Enter")
    page.wait_for_selector("#pipeline option", state="attached")
    ask(page, MARBURY).locator(".chip").first.wait_for()
    assert page.evaluate("[Object.values(sessionStorage), localStorage.length]") == [["a-key-for-the-tests"], 0]
    page.reload()
    page.locator(".turn .answer").wait_for()


def test_a_server_that_keeps_nothing(make_server, open_page, ask):
    page = open_page(make_server("unkept").url)
    ask(page, MARBURY)
    page.get_by_text("This server keeps no conversations.").wait_for()
    # The page remembers what was said, and the pipeline's queries have it.
    turn = ask(page, "Was it unanimous?")
    assert "Marbury" in turn.locator(".answer").inner_text() and "#c=" not in page.url
