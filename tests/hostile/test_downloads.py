"""Published files that are something else: they lie there already, so that nothing is asked of a network."""

from __future__ import annotations

import json

from hostile import case


def sets(convert: str, count: int, folder: str = "made") -> str:
    """A list of downloads whose files are raw0, raw1 ..."""
    files = [{"file": f"raw{number}", "url": "http://127.0.0.1:9/x", "checksum": None} for number in range(count)]
    return json.dumps({"all": {"mine": {"licence": "none", "convert": convert, "folder": folder, "files": files}}})


def raw(*contents: str | bytes) -> dict[str, str | bytes]:
    return {f"raw{number}": content for number, content in enumerate(contents)}


DEEP = "[" * 100_000
TOPIC = json.dumps([{"number": 1, "turn": [{"number": 1, "raw_utterance": "How?"}]}])
TASK = (
    '{"task_id": "1", "Collection": "mt-rag-c", "contexts": [], "input": [{"text": "\\ud800"}], '
    '"targets": [{"text": "a"}], "Answerability": []}'
)
FORMS = {
    "nothing": "", "a page": "<html>log in</html>", "no UTF-8": b"\xff\xfe{", "brackets": DEEP, "null": "null",
    "a list of numbers": "[1, 2]", "an object of numbers": '{"a": 1}', "a text": '"text"', "NUL": b"\0" * 1000,
}  # fmt: skip
COUNTS = {
    "inscit": 1,
    "or_sharc": 2,
    "clapnq": 2,
    "mtrag_un": 1,
    "qrecc_dev": 1,
    "unzip": 1,
    "cast2020": 2,
    "qrecc_trec": 6,
}

CASES = [
    *(
        case(
            f"{converter}: {form}", "download mine.yaml .",
            {"mine.yaml": sets(converter, count), **raw(*[content] * count)},
            exits=1, says=("convqa: mine: ", "raw", "Expected the file as published"),
        )
        for converter, count in COUNTS.items() for form, content in FORMS.items()
    ),
    case(
        "passages that are a program", "download mine.yaml .",
        {"mine.yaml": sets("qrecc_trec", 6),
         **raw("a,b,c,d,e\n1,1,q,\"__import__('os').abort()\",[]\n", "", "", "{}", TOPIC, TOPIC)},
        exits=1, says="raw0",
    ),
    case(
        "passages nested too deeply", "download mine.yaml .",
        {"mine.yaml": sets("qrecc_trec", 6), **raw(f"a,b,c,d,e\n1,1,q,{DEEP},[]\n", "", "", "{}", TOPIC, TOPIC)},
        exits=1, says="raw0",
    ),
    case(
        "half a character", "download mine.yaml .",
        {"mine.yaml": sets("mtrag_un", 1), **raw(TASK)},
        exits=0, says="lone surrogates",
    ),
    case(
        "too few files", "download mine.yaml .", {"mine.yaml": sets("or_sharc", 1), **raw("{}")}, exits=1, says="raw0"
    ),
    case("out of the folder", "download mine.yaml .", {"mine.yaml": sets("inscit", 1, "../out")}, says="'../out'"),
    case("a converter of none", "download mine.yaml .", {"mine.yaml": sets("os.system", 1)}, says="'os.system'"),
    case("a folder that is a file", "download mine.yaml .",
         {"mine.yaml": sets("mtrag_un", 1, "mine.yaml"), **raw(TASK)}, says="cannot be written"),
    case("no folder", "download mrqa train", says="mrqa: unknown part 'all'"),
    case("conversations: no such set", "download conversations out --only nosuch", says="--only nosuch"),
]  # fmt: skip


def test_hostile(hostile, check):
    check(hostile)
