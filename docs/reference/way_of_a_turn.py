"""Write docs/reference/way-of-a-turn.md: the files of convqa that a turn enters, in order.

``make fix`` runs it; a test compares.

python docs/reference/way_of_a_turn.py [FILE]
"""

from __future__ import annotations

import ast
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

import orjson

import convqa
from convqa.domain import Conversation, Exchange, Turn, TurnId

PIPELINES = ("copy-bm25", "default")
PASSAGES = (
    ("goethe", "Johann Wolfgang von Goethe wrote Faust. He was born in Frankfurt in 1749."),
    ("schiller", "Friedrich Schiller wrote The Robbers. He was born in Marbach in 1759."),
)
HISTORY = (Exchange("Who wrote Faust?", "Johann Wolfgang von Goethe wrote Faust.", "Who wrote Faust?"),)
QUESTION = "When was he born?"
PACKAGE = Path(convqa.__file__).parent
HEADER = """# The way of a turn

The files of convqa in the order in which one turn first enters them, for the simplest pipeline and for the default.
Read them in this order to see how an answer comes about. The pipeline is loaded before; the turn is a follow-up
question with one exchange before it, and two passages are searched.

Made by running a turn (`make fix`); do not edit.
"""


def text() -> str:
    """The whole page. Each pipeline has a process of its own, so that it finds no cache of the other's."""
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
        return "\n".join([HEADER, *processes.map(section, PIPELINES)])


def section(pipeline: str) -> str:
    """The table of one pipeline, in one thread for the same order each time."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        passages = Path(folder) / "passages.jsonl"
        passages.write_bytes(b"".join(orjson.dumps({"id": id, "text": said}) + b"\n" for id, said in PASSAGES))
        assistant = convqa.load(pipeline, passages)
        talk = Conversation(1, (Turn(TurnId(1, 1), QUESTION, HISTORY),))
        files = entered(lambda: list(assistant.drive([talk])))
    rows = (
        f"| {number} | `{file.relative_to(PACKAGE.parent)}` | {_summary(file)} |"
        for number, file in enumerate(files, 1)
    )
    return "\n".join([f"## `{pipeline}`\n\n| | file | |\n|---|---|---|", *rows, ""])


def entered(work: Callable[[], Any]) -> list[Path]:
    """The files of the package whose functions ``work`` calls, by first call, in any thread."""
    files: dict[Path, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            files.setdefault(Path(frame.f_code.co_filename))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return list(files)


def _summary(file: Path) -> str:
    """The first line of a module's docstring."""
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(said.split("\n\n")[0].split()).replace("|", "\\|")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(section(sys.argv[1]), end="")
    else:
        Path(__file__).with_name("way-of-a-turn.md").write_text(text(), encoding="utf-8")
