"""Folders that convqa made itself, damaged since: runs that go on, collections that are opened."""

from __future__ import annotations

import json

from hostile import Case, case

RESUME = "run qrecc done --collection collection --pipeline copy-bm25 --task qrecc"
ASK = "ask --collection collection --pipeline copy-bm25 faust"


def _cut(path):
    path.write_bytes(b"\x00\xff" * 40)


JUNK = {
    "nothing": "",
    "no JSON": "junk",
    "null": "null",
    "a list": "[1]",
    "an object": "{}",
    "deep lists": "[" * 100_000,
    "bytes": _cut,
    "missing": None,
    "a folder": lambda path: path.mkdir(),
}


def _cases(verb: str, command: str, file: str, exits: dict[str, int] | int, says: str = "") -> list[Case]:
    return [
        case(
            f"{verb}: {file} is {what}",
            command,
            {file: content},
            exits=exits if isinstance(exits, int) else exits.get(what, exits[""]),
            says=says,
        )
        for what, content in JUNK.items()
    ]


def _meta(fingerprint: object) -> dict[str, str]:
    return {"done/run.meta.json": json.dumps({"status": "unfinished", "fingerprint": fingerprint})}


CASES = [
    *_cases("resume", RESUME, "done/run.meta.json", 2, "run.meta.json"),
    *_cases("resume", RESUME, "done/responses.jsonl", {"": 0, "a folder": 2}),
    *_cases("export", "export done --as text", "done/responses.jsonl", 2, "responses.jsonl"),
    *_cases("get", "models get mine model", "model/convqa.json", 2),
    *_cases(
        "ask",
        ASK,
        "collection/manifest.json",
        2,
        "manifest.json",
    ),
    *(
        case(f"resume: a fingerprint of {json.dumps(value)}", RESUME, _meta(value), says="run.meta.json")
        for value in (None, 7, "x", [1])
    ),
    *(
        case(f"resume: a fingerprint of {json.dumps(value)}", RESUME, _meta(value), says="--restart")
        for value in ({}, {"code": None}, {"code": 7}, {"pipeline": {}})
    ),
]


def test_folders(hostile, check):
    check(hostile)
