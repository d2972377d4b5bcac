"""A real browser before a real server, with the models that ship."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from convqa.places import shipped

INSTALL = "apt-get install --yes chromium"
EXAMPLES = [
    "What is a physician's assistant?",
    "How about Marbury vs Madison?",
    "What was the Neolithic Revolution?",
    "Should I brine a turkey before smoking it?",
]
KEY = "a-key-for-the-tests"
CONFIGS = {
    "talk": {"pipelines": {"talk": {"examples": EXAMPLES}, "hybrid": {"examples": []}, "asking": {"examples": []}}},
    "keys": {"pipelines": {"copy-bm25": {}}, "keys": {"tester": {"env": "TEST_KEY"}}},
    "unkept": {"pipelines": {"expansion-bm25": {}}, "conversations": ""},
}


class Server:
    """``convqa serve`` as a process, which can be killed and come back at the same address."""

    def __init__(self, folder: Path, config: dict, cache: Path) -> None:
        self._folder, self._process, self.port = folder, None, 0
        conversations = str(folder / "conversations.sqlite")
        fields = {"collection": str(folder.parent / "qrecc-trec.jsonl"), "conversations": conversations, **config}
        (folder / "server.yaml").write_text(json.dumps(fields))
        self._environment = {**os.environ, "TEST_KEY": KEY, "XDG_CACHE_HOME": str(cache), "HOME": str(folder)}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> Server:
        command = [sys.executable, "-m", "convqa", "serve", "--config", "server.yaml", "--port", str(self.port)]
        with (self._folder / "errors.txt").open("w") as errors:
            self._process = subprocess.Popen(
                command, cwd=self._folder, env=self._environment, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        said = self._process.stdout.readline()
        assert said.startswith("Listening on http://127.0.0.1:"), (self._folder / "errors.txt").read_text()
        self.port = int(said.split(":")[2].split("/")[0])
        return self

    def stop(self, signum: int = signal.SIGKILL) -> None:
        self._process.send_signal(signum)
        self._process.communicate(timeout=60)

    def get(self, path: str) -> dict:
        return json.loads(self.request("GET", path))

    def request(self, method: str, path: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path)
        reply = connection.getresponse().read()
        connection.close()
        return reply


@pytest.fixture(scope="session")
def _served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with gzip.open(shipped("examples", "qrecc-trec", "passages.jsonl.gz"), "rt", encoding="utf-8") as bundled:
        own = Path(__file__).with_name("passages.jsonl").read_text(encoding="utf-8")
        (folder / "qrecc-trec.jsonl").write_text(bundled.read() + own, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def make_server(_served, tmp_path_factory):
    """``make_server("talk")``: the server of that configuration, or of the one given; it ends with the tests."""
    made = {}

    def make(name, config=None):
        if name not in made:
            folder = _served / name
            folder.mkdir()
            made[name] = Server(folder, config or CONFIGS[name], _served / "cache").start()
        return made[name]

    yield make
    for server in made.values():
        server.stop()


@pytest.fixture
def server(make_server):
    return make_server("talk")


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window; where it or playwright is missing its tests are skipped."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is missing: make test-browser")
    found = os.environ.get("CONVQA_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.skip(f"chromium is missing: {INSTALL}")
    with playwright.sync_playwright() as driver:
        # As root, as in containers, chromium has no sandbox. Gray edges of letters make pictures small.
        options = ["--disable-lcd-text", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        opened = driver.chromium.launch(executable_path=found, args=options)
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser, server):
    """``open_page(address, width=..., ...)``: a new window; errors of its script fail the test at the end.

    Details are shown, unless ``details=False``.
    """
    contexts, mishaps = [], []

    def open_(address=None, width=1400, height=900, details=True, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        if details:
            context.add_init_script("localStorage.setItem('details', 'on')")
        context.set_default_timeout(40_000)
        page = context.new_page()
        page.foreign = []
        page.on("request", lambda request: note(page, request.url))
        page.on("pageerror", lambda error: mishaps.append(str(error)))
        page.on("console", lambda said: "Content Security" in said.text and mishaps.append(said.text))
        page.goto(address or server.url)
        page.wait_for_selector("html[data-ready]")
        return page

    def note(page, url):
        if not url.startswith((server.url, "blob:http://127.0.0.1", "http://127.0.0.1")):
            page.foreign.append(url)

    yield open_
    for context in contexts:
        context.close()
    assert mishaps == []


@pytest.fixture
def page(open_page):
    return open_page()


@pytest.fixture
def ask():
    """``ask(page, question)``: type it, press Enter, wait; the turn's element."""

    def ask_(page, question, settled=True):
        number = page.locator(".turn").count()
        page.fill("#question", question)
        page.press("#question", "Enter")
        turn = page.locator(".turn").nth(number)
        turn.wait_for()
        if settled:
            page.wait_for_selector("body:not(.busy)")
        return turn

    return ask_
