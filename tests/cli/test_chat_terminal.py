"""``convqa chat`` on a real pseudo-terminal: what is typed, what Ctrl-C and Ctrl-D do, what is on the screen."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import pytest

PROMPT = r"(?:\r|\n|^)(?:\x1b\[\?2004h)?> $"
UP, CTRL_C, CTRL_D = "\x1b[A", "\x03", "\x04"
STYLE = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")


class Terminal:
    """A process on a pseudo-terminal. ``before`` is Python that it runs first."""

    def __init__(self, *arguments, columns=80, before="", **environment):
        self.master, slave = os.openpty()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        code = f"import sys\n{before}\nfrom convqa.cli import main\nsys.argv[0] = 'convqa'\nmain()"
        kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "COLUMNS", "FORCE_COLOR"}}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**kept, "TERM": "xterm-256color", **environment},
        )  # fmt: skip
        os.close(slave)
        self._unread = ""

    def type(self, text, enter=True):
        os.write(self.master, (text + "\r" * enter).encode())

    def until(self, pattern, seconds=60):
        """All that is shown up to a pattern."""
        end = time.monotonic() + seconds
        waiting = select.poll()
        waiting.register(self.master, select.POLLIN)
        while not (found := re.search(pattern, self._unread)):
            if not waiting.poll(1000 * max(end - time.monotonic(), 0)):
                raise AssertionError(f"{pattern!r} did not come; there is {self._unread!r}")
            try:
                self._unread += os.read(self.master, 65536).decode(errors="replace")
            except OSError:  # nobody has the other end
                raise AssertionError(f"{pattern!r} did not come before the end; there is {self._unread!r}") from None
        shown, self._unread = self._unread[: found.end()], self._unread[found.end() :]
        return shown

    def reply(self, text):
        """What is shown after a line, up to the next prompt; without styles, and without what was overwritten."""
        self.type(text)
        shown = self.until(PROMPT).replace("\r\n", "\n")
        return "\n".join(line.rpartition("\r")[2] for line in STYLE.sub("", shown).split("\n"))

    def end(self, seconds=30):
        """The exit code."""
        return self.process.wait(seconds)


@pytest.fixture
def terminal(indexed, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    started = []

    def start(*options, **more):
        started.append(Terminal("chat", "--collection", indexed, "--pipeline", "expansion-bm25", *options, **more))
        started[-1].until(PROMPT)
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.send_signal(signal.SIGKILL)
        one.process.wait()
        os.close(one.master)


def test_a_conversation_is_typed(terminal):
    chat = terminal()
    first = chat.reply("What is a physician's assistant?")
    answer, sources = first.strip("\n> ").split("\n\n")[-2:]
    assert "[1]" in answer and sources.startswith("[1]") and "\n" not in sources
    assert "web.archive.org" not in sources and max(map(len, first.split("\n"))) <= 80
    assert "Did you mean '/sources'?" in chat.reply("/sorces")
    assert "    id: " in chat.reply("/sources")
    # The arrow calls lines back; Ctrl-C clears a line, which is then not sent.
    chat.type(UP, enter=False)
    chat.until(r"/sources")
    time.sleep(0.3)  # Python hears a signal at its prompt only once readline waits for the next key again
    chat.type(CTRL_C, enter=False)
    chat.until(PROMPT)
    chat.type(CTRL_D, enter=False)
    assert chat.end() == 0


def test_narrow_terminals_are_kept_to(terminal):
    columns = 24
    chat = terminal(columns=columns, NO_COLOR="1")
    for line in ("What is a physician's assistant?", "/sources", "/rewrite", "/help", "/nothing", "zzqx wvvk"):
        chat.type(line)
        shown = chat.until(PROMPT).replace("\x1b[?2004h", "").replace("\x1b[?2004l", "").replace("\r\n", "\n")
        # Without the line that was typed, and the states of the line that says what is being done.
        lines = [STYLE.sub("", part.rpartition("\x1b[2K")[2]) for part in shown.split("\n")[1 + len(line) // columns :]]
        assert max(map(len, lines)) <= columns, lines
        assert not re.search(r"\x1b\[[\d;]*m", shown)


def test_an_answer_can_be_abandoned_and_is_no_part_of_the_conversation(terminal, openai_server):
    server = openai_server(lambda prompt, number: 20.0)
    chat = terminal("--llm", server.url, "--llm-model", "m", "--llm-role", "answer")
    chat.type("What is a physician's assistant?")
    chat.until(r"Answering")
    while not server.requests:
        time.sleep(0.02)
    start = time.monotonic()
    chat.type(CTRL_C, enter=False)
    assert "Stopped." in chat.until(PROMPT)
    assert "no question yet" in chat.reply("/sources")
    chat.type("/quit")
    assert chat.end() == 0 and time.monotonic() - start < 10


def test_sentences_are_shown_while_the_model_writes(terminal, openai_server):
    may_end = threading.Event()

    def reply(prompt, number):
        yield from ("Assistants work ", "in clinics. ", "They cost ", "money. ")
        assert may_end.wait(60)
        yield "They have licences."

    server = openai_server(reply)
    chat = terminal("--llm", server.url, "--llm-model", "m", "--llm-role", "answer")
    chat.type("What is a physician's assistant?")
    shown = chat.until(r"Answering \.\.\.\r\nAssistants work in clinics\. ", 20)
    assert "money" not in shown
    may_end.set()
    whole = STYLE.sub("", chat.until(PROMPT))
    assert re.search(r"Assistants work in clinics\..*They cost money\..*They have licences\.", whole, re.S)


AWAY = """
from convqa.components.retrievers.bm25 import BM25
from convqa.errors import StoreUnavailable
search, calls = BM25.search, []
def away(*arguments):
    calls.append(1)
    if len(calls) == 1:
        raise StoreUnavailable("nothing answers at http://localhost:9200.")
    return search(*arguments)
BM25.search = away
"""


def test_a_store_that_is_away_is_said_and_the_question_can_be_asked_again(terminal):
    chat = terminal(before=AWAY)
    said = " ".join(chat.reply("What is a physician's assistant?").split())
    assert "http://localhost:9200" in said and "up arrow" in said
    assert "[1]" in chat.reply(UP)
