"""The page as it leaves the server; tests/browser has it in a browser."""

from __future__ import annotations

import re

import pytest

from convqa.places import shipped
from convqa.server.page import _FILES, _FOLDER

KEY = "sixteen-letters-or-more"


def test_the_first_paint_has_pipelines_examples_and_conversations(own_client, make_client, talk):
    own_client.post("/api/turn", json={"question": "Who wrote Faust?"})
    served = {"talk": {"examples": ["Who wrote <Faust>?"]}, "brief": {"examples": []}}
    page = make_client({"talk": talk, "brief": talk}, served).get("/")
    assert page.status_code == 200 and page.headers["Content-Type"].startswith("text/html")
    assert re.findall(r'<option value="(\w+)" data-language="en" data-documents="">', page.text) == ["talk", "brief"]
    assert "Who wrote &lt;Faust&gt;?</button>" in page.text
    assert "Ask your passages</h1>" in page.text and "6 passages</span>." in page.text
    assert '<span class="title">Who wrote Faust?</span>' in page.text and "1 turn," in page.text


def test_nothing_is_inline_and_nothing_comes_from_elsewhere(client):
    client.post("/api/turn", json={"question": "<script>alert(1)</script> Who wrote Faust?"})
    page = client.get("/")
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in page.headers["Content-Security-Policy"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    assert re.findall(r"<script(?! src=\"static/| type=\"module\" src=\"static/)", page.text) == []
    assert re.findall(r"<style| style=| on[a-z]+=|https?:|javascript:", page.text) == []
    for name, file in _FILES.items():
        text = file.read_text(encoding="utf-8")
        assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text) == []
        assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)[a-z]", text) == [], name


def test_its_files(client):
    page = client.get("/").text
    for name in re.findall(r'"static/([\w.]+)"', page):
        answer = client.get(f"/static/{name}")
        assert answer.status_code == 200 and answer.headers["Cache-Control"] == "no-cache" and answer.headers["ETag"]
    assert client.get("/static/app.js").headers["Content-Type"].startswith("text/javascript")
    for name in ("none.js", "..%2Findex.html", "..%2F..%2Fapp.py", "%00"):
        assert client.get(f"/static/{name}").status_code == 404
    sizes = {file.name: file.stat().st_size for file in [*_FILES.values(), _FOLDER / "index.html"]}
    assert sum(sizes.values()) < 140_000, sizes
    assert client.head("/").status_code == 200


def test_who_has_no_key_sees_an_empty_page(make_client, monkeypatch):
    monkeypatch.setenv("KEY_OF_TESTS", KEY)
    client = make_client(served={"talk": {"examples": ["Who wrote Faust?"]}}, keys={"one": {"env": "KEY_OF_TESTS"}})
    allowed = {"Authorization": f"Bearer {KEY}"}
    client.post("/api/turn", json={"question": "Who was Marie Curie?"}, headers=allowed)
    page = client.get("/")
    assert page.status_code == 200
    assert [word for word in ("talk", "Faust", "Curie", "library") if word in page.text] == []
    assert "Curie" in client.get("/", headers=allowed).text


def test_a_server_that_keeps_no_conversations_has_a_page_too(make_client):
    assert make_client(conversations="").get("/").status_code == 200


def test_a_pipeline_without_a_collection_has_a_page_too(make_client, qa):
    page = make_client({"own": qa.pipeline}).get("/")
    assert "Ask your passages" in page.text and "None" not in page.text


@pytest.mark.parametrize("name", ["page-light.png", "page-compare.png", "page-phone.png"])
def test_the_pictures_are_small(name):
    pictures = shipped("docs", "images")
    if not pictures.is_dir():
        pytest.skip("not a git checkout")
    assert (pictures / name).stat().st_size < 200_000
