"""Files of every task and of collections, broken in every way that a file can be."""

from __future__ import annotations

from pathlib import Path

from hostile import GOOD, Case, Content, case

FILES = {
    "qrecc/questions.json": "run qrecc out --pipeline copy-bm25 --task qrecc",
    "qrecc/ground-truth.json": "evaluate qrecc qrecc-run --task qrecc",
    "qrecc-run/run.json": "evaluate qrecc qrecc-run --task qrecc",
    "mrqa/dev.jsonl": "run mrqa/dev.jsonl out --task mrqa",
    "squad/dev.json": "evaluate squad/dev.json mrqa-run --task mrqa",
    "mrqa-run/predictions.json": "evaluate mrqa mrqa-run --task mrqa",
    "sharc/sharc.json": "run sharc/sharc.json out --task sharc",
    "sharc-run/predictions.json": "evaluate sharc sharc-run --task sharc",
    "poleval/passages.jl": "run poleval out --task poleval",
    "jwhr/answered.jsonl": "run jwhr/answered.jsonl out --task jwhr",
    "jwhr-run/run.jsonl": "evaluate jwhr jwhr-run --task jwhr",
    "passages.jsonl": "index passages.jsonl --collection made",
}
"""Files of JSON, and the command that reads each."""

WHOLE = {"qrecc/questions.json", "mrqa/dev.jsonl", "sharc/sharc.json", "passages.jsonl"}
"""What is broken in every way; the other files go through the same readers, and are broken in some."""

SOME = {"nothing", "half", "a number", "deep objects", "an empty object", "a folder", "missing"}
"""What is tried on every file."""


def _folder(path: Path) -> None:
    path.mkdir()


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def broken(name: str) -> dict[str, Content]:
    """What may stand in place of a JSON file."""
    good = GOOD.get(name, b"")
    text = good.decode() if isinstance(good, bytes) else good
    deep = 100_000
    return {
        "nothing": "",
        "blanks": " \n\t\n",
        "no JSON": "hello\n",
        "half": text[: len(text) // 2],
        "not UTF-8": b'[{"id": "\xff\xfe"}]\n',
        "UTF-16": text.encode("utf-16"),
        "null": "null\n",
        "a number": "7\n",
        "a huge number": "1" * 5_000 + "\n",
        "a text": '"text"\n',
        "lists of lists": "[[[]]]\n",
        "deep lists": "[" * deep + "]" * deep + "\n",
        "deep lists with half a character": "[" * 900 + '"\\ud800"' + "]" * 900 + "\n",
        "deep objects": '{"a":' * deep + "1" + "}" * deep + "\n",
        "NUL bytes": "\0" * 1000,
        "an empty object": "{}\n",
        "a folder": _folder,
        "missing": None,
        "a link to itself": _loop,
    }


DONE = {"mrqa-run/predictions.json: an empty object"}
"""What is no fault: every question lacks a prediction, and counts 0 as in MRQA's own script."""

OTHERWISE = {
    **{f"poleval/passages.jl: {what}": "no collection for poleval" for what in ("a folder", "missing")},
}
"""What messages say that do not begin with the file's own name."""


def _cases() -> list[Case]:
    cases = []
    for file, command in FILES.items():
        for what, content in broken(file).items():
            if file in WHOLE or what in SOME:
                name = f"{file}: {what}"
                exits, says = (0, ()) if name in DONE else (2, OTHERWISE.get(name, file))
                cases.append(case(name, command, {file: content}, exits=exits, says=says))
    return cases


CASES = _cases()


def test_files(hostile, check):
    check(hostile)
