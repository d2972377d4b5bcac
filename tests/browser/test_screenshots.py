"""The pictures of the page in docs/images: written anew by make screenshots, otherwise only taken."""

from __future__ import annotations

import os
import threading

import pytest

import convqa

pytestmark = pytest.mark.browser
TALKS = [
    ["Should I brine a turkey before smoking it?"],
    ["What was the Neolithic Revolution?", "When did it start?"],
    ["How about Marbury vs Madison?", "Was it unanimous?"],
]


ARE_KEPT = bool(os.environ.get("CONVQA_SCREENSHOTS"))


def talk(page, ask):
    """Hold the conversations; the last turn."""
    for questions in TALKS:
        page.click("#new")
        for question in questions:
            turn = ask(page, question)
    return turn


@pytest.mark.slow
def test_pictures(open_page, server, ask, root, tmp_path):
    folder = root / "docs" / "images" if ARE_KEPT else tmp_path
    page = open_page(width=1280, height=760, details=False, color_scheme="light")
    if ARE_KEPT:
        # The first time includes the vectors of passages that nobody asked for before.
        talk(page, ask)
    for conversation in server.get("/api/conversations")["conversations"]:
        server.request("DELETE", f"/api/conversations/{conversation['id']}")
    turn = talk(page, ask)
    turn.locator(".chip").first.click()
    page.wait_for_selector("#panel mark")
    page.locator("#main").evaluate("main => main.scrollTo(0, 0)")
    page.mouse.move(600, 5)
    # A scroll that is under way would blur the picture.
    page.wait_for_timeout(500)
    shoot(page, folder / "page-light.png")

    dark = open_page(width=1280, height=760, color_scheme="dark")
    dark.click("#compare")
    ask(dark, "How about Marbury vs Madison?")
    turn = ask(dark, "Who was John Marshall?")
    turn.locator(".happened summary").first.click()
    dark.mouse.move(600, 5)
    dark.wait_for_timeout(500)
    shoot(dark, folder / "page-compare.png")

    phone = open_page(width=380, height=760, details=False, color_scheme="light", has_touch=True)
    ask(phone, "How about Marbury vs Madison?")
    phone.wait_for_timeout(500)
    shoot(phone, folder / "page-phone.png")


LEAVE = """# Leave

## Carrying over

You can carry over up to five days of annual leave into the next year. They have to be used by 31 March. Otherwise they
are lost.
"""
SENTENCES = (
    "Yes, you can carry over up to five days of annual leave into the next year [1]. ",
    "They have to be used by 31 May [1]. ",
    "Otherwise they are lost [1]. ",
)


def test_sentences_of_a_model_that_is_writing(make_server, open_page, ask, openai_server, root, tmp_path):
    may_end = threading.Event()

    def written():
        yield from SENTENCES
        assert may_end.wait(60)
        yield "Ask your manager."

    def reply(prompt, number):
        return written() if "carry over" in prompt else "NO_ANSWER"

    (tmp_path / "leave.md").write_text(LEAVE)
    convqa.index(tmp_path / "leave.md", tmp_path / "mine")
    model = tmp_path / "model.yaml"
    model.write_text(f"{{url: '{openai_server(reply).url}', model: m, role: [answer]}}")
    pipelines = {"talk": {"llm": str(model), "examples": []}}
    server = make_server("writing", {"collection": str(tmp_path / "mine"), "pipelines": pipelines})
    page = open_page(server.url, width=1000, height=520, details=False, color_scheme="light")
    try:
        turn = ask(page, "Can I carry over annual leave into the next year?", settled=False)
        turn.get_by_text("31 May").wait_for()
        assert turn.get_by_text("not found in the passages").count() == 1 and page.locator("body.busy").count() == 1
        page.mouse.move(600, 5)
        shoot(page, (root / "docs" / "images" if ARE_KEPT else tmp_path) / "language-model-writing.png")
    finally:
        may_end.set()
    turn.get_by_text("Ask your manager.").wait_for()


def shoot(page, file):
    file.parent.mkdir(exist_ok=True)
    page.screenshot(path=file, animations="disabled", caret="hide")
    assert file.stat().st_size > 5_000
