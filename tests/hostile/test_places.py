"""Names that are not UTF-8, and folders of collections that hold more, or other, than convqa wrote."""

from __future__ import annotations

import json

from hostile import PASSAGES, QUESTIONS, TRUTH, case, lines

BAD = "p\udce4sse"
"""The byte E4 in the name of a file, as Latin-1 writes an umlaut."""


def _flip(path):
    """Change a letter of a passage in the collection that a file lies in."""
    (text,) = path.parent.glob("data-*/passages.sqlite")
    text.write_bytes(text.read_bytes().replace(b"tragedy", b"traxedy"))


def _cut(path):
    """Empty the manifest."""
    path.with_name("manifest.json").write_bytes(b"")


INPUT = {f"{BAD}/questions.json": json.dumps(QUESTIONS), f"{BAD}/ground-truth.json": json.dumps(TRUTH)}
NAMED_LIKE_DATA = {"mine/data-0123456789ab/thesis.txt": "important"}
COPY = "--pipeline copy-bm25 --task qrecc --collection collection"

CASES = [
    case("an input whose name is not UTF-8", f"run {BAD} out {COPY}", INPUT, exits=0),
    case("an output whose name is not UTF-8", f"run qrecc {BAD} {COPY}", exits=0),
    case("a truth whose name is not UTF-8", f"evaluate {BAD} qrecc-run --task qrecc", INPUT, exits=0),
    case(
        "passages whose name is not UTF-8", f"index {BAD}.jsonl --collection new", {f"{BAD}.jsonl": lines(*PASSAGES)},
        exits=0,
    ),
    case("a collection whose name is not UTF-8", f"index passages.jsonl --collection {BAD}", exits=0),
    case("an index whose name is not UTF-8", f"ask --collection elasticsearch://h/{BAD} faust", says="not a valid"),
    case("check: whole", "collections check vectors", exits=0, says="vectors: ok"),
    case(
        "check: a flipped letter", "collections check collection", {"collection/flipped": _flip},
        exits=1, says=("collection is damaged: passage", "--replace"),
    ),
    case(
        "delete: the user's files stay", "collections delete collection --yes", {"collection/notes.txt": "mine"},
        exits=0, says="deleted",
    ),
    case(
        "delete: the rest of a deletion", "collections delete collection --yes", {"collection/manifest.json": None},
        exits=0, says="deleted",
    ),
    case("delete: what is none", "collections delete qrecc --yes", says="is not a collection: nothing is deleted"),
    case(
        "delete: a folder in it is named like convqa's", "collections delete mine --yes", NAMED_LIKE_DATA,
        says="is not a collection: nothing is deleted",
    ),
    case(
        "index: a folder in it is named like convqa's", "index passages.jsonl --collection mine", NAMED_LIKE_DATA,
        says="is not a convqa collection",
    ),
    case(
        "replace: an empty manifest", "index passages.jsonl --collection collection --replace", {"collection/x": _cut},
        exits=0,
    ),
    case(
        "delete: an empty manifest", "collections delete collection --yes", {"collection/x": _cut}, exits=0,
        says="deleted", hides="stays",
    ),
]  # fmt: skip


def test_places(hostile, check):
    check(hostile)
