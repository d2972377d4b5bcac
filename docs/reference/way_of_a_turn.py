"""Write docs/reference/way-of-a-turn.md: the files of convqa that a turn runs through, in order.

``make fix`` runs this script, and a test compares its output with the page.

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
HEADER = """# A turn through the code

These tables list the files of convqa that a turn runs through, in order of first use, for the simplest pipeline and for
the default. To learn how convqa computes an answer, read the files in this order. The turn is a follow-up question with
one earlier exchange, over two passages, and the pipeline is already loaded.

`make fix` generates this page by running a turn. Do not edit it.
"""


def text() -> str:
    """Return the page. Each pipeline runs in its own process, so that it finds no caches of the other."""
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
        return "\n".join([HEADER, *processes.map(section, PIPELINES)])


def section(pipeline: str) -> str:
    """Return the table of one pipeline. One thread makes the order reproducible."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        passages = Path(folder) / "passages.jsonl"
        passages.write_bytes(b"".join(orjson.dumps({"id": id, "text": text}) + b"\n" for id, text in PASSAGES))
        assistant = convqa.load(pipeline, passages)
        talk = Conversation(1, (Turn(TurnId(1, 1), QUESTION, HISTORY),))
        files = entered(lambda: list(assistant.drive([talk])))
    rows = (
        f"| {number} | `{file.relative_to(PACKAGE.parent)}` | {_summary(file)} |"
        for number, file in enumerate(files, 1)
    )
    return "\n".join([f"## `{pipeline}`\n\n| | file | |\n|---|---|---|", *rows, ""])


def entered(work: Callable[[], Any]) -> list[Path]:
    """Return the files of the package whose functions ``work`` calls in any thread, in order of the first call."""
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
    """Return the first paragraph of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split()).replace("|", "\\|")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(section(sys.argv[1]), end="")
    else:
        Path(__file__).with_name("way-of-a-turn.md").write_text(text(), encoding="utf-8")
