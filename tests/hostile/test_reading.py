"""What JSON says twice, texts that no passage can be, and spans that are not where the file says."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from hostile import PASSAGES, QUESTIONS, Case, Content, case, lines

TWICE = '{"id": "faust", "text": "one", "text": "two"}\n'
LONG = lines({"id": "long", "text": "word " * 240_000})


def _bomb(path: Path) -> None:
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(300):
            stream.write(b"a" * 1_000_000)


def _shifted(start: int) -> Content:
    asked = {"id": "q1", "question": "Who wrote Faust?", "answers": [{"text": "Goethe", "answer_start": start}]}
    return json.dumps({"data": [{"title": "t", "paragraphs": [{"context": "Goethe wrote Faust.", "qas": [asked]}]}]})


def _cases() -> list[Case]:
    index = "index passages.jsonl --collection made"
    found = [
        case("a key twice in a passage", index, {"passages.jsonl": TWICE}, says="duplicate key 'text'"),
        case(
            "text and other contents",
            index,
            {"passages.jsonl": lines(*PASSAGES, {"id": "x", "text": "one", "contents": "two"})},
            exits=0,
        ),
        case("a passage of a megabyte", index, {"passages.jsonl": LONG}, says="passage 'long': expected"),
        case("300 MB in one line", index, {"passages.jsonl": _bomb}, says="passages.jsonl: line 1: is longer than"),
        case(
            "a key twice in a question",
            "run qrecc out --pipeline copy-bm25",
            {"qrecc/questions.json": json.dumps(QUESTIONS).replace('"Turn_no": 2', '"Turn_no": 2, "Turn_no": 3')},
            says="questions.json: duplicate key 'Turn_no' in {'Conversation_no': 1, 'Turn_no': 3,",
        ),
        case(
            "a key twice in predictions",
            "evaluate squad mrqa-run",
            {"mrqa-run/predictions.json": '{"q1": "Goethe", "q1": "Faust"}'},
            says="predictions.json: duplicate key 'q1'",
        ),
    ]  # fmt: skip
    for start in (-1, 3, 10**9):
        files = {"squad/dev.json": _shifted(start)}
        found.append(case(f"an answer at {start}", "run squad out", files, exits=0))
    return found


CASES = _cases()


def test_reading(hostile, check):
    check(hostile)
