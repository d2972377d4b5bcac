"""Records of every task and collection that JSON allows and their format does not, and those that it does allow."""

from __future__ import annotations

import json
from copy import deepcopy

from hostile import GOOD, JWHR, MRQA, PASSAGES, QUESTIONS, RUN, SHARC, TRUTH, Case, case, lines

EVALUATE = "evaluate qrecc qrecc-run --task qrecc"
RUNS = "run qrecc out --pipeline copy-bm25 --task qrecc"


def changed(records: object, path: tuple[str | int, ...], value: object) -> str:
    """JSON of the records with one value put in place, or taken out (``...``)."""
    copy = deepcopy(records)
    inner = copy
    for part in path[:-1]:
        inner = inner[part]  # type: ignore[index]
    if value is ...:
        del inner[path[-1]]  # type: ignore[attr-defined]
    else:
        inner[path[-1]] = value  # type: ignore[index]
    return json.dumps(copy, ensure_ascii=True)


SQUAD = json.loads(GOOD["squad/dev.json"])

FIELDS: list[tuple[str, str, object, tuple[str | int, ...], str]] = [
    *(("qrecc/questions.json", RUNS, QUESTIONS, (1,), field) for field in ("Conversation_no", "Turn_no", "Question")),
    *(
        ("qrecc/ground-truth.json", EVALUATE, TRUTH, (1,), field)
        for field in ("Conversation_no", "Turn_no", "Truth_rewrite", "Truth_passages", "Truth_answer")
    ),
    *(
        ("qrecc-run/run.json", EVALUATE, RUN, (1,), field)
        for field in ("Conversation_no", "Turn_no", "Model_rewrite", "Model_answer")
    ),
    *(
        ("squad/dev.json", "run squad/dev.json out", SQUAD, ("data", 0, "paragraphs", 0, *path), field)
        for path, field in (((), "context"), (("qas", 0), "id"), (("qas", 0), "question"))
    ),
    *(
        ("sharc/sharc.json", "run sharc/sharc.json out", SHARC, (0,), field)
        for field in ("utterance_id", "snippet", "question", "scenario", "history")
    ),
    ("sharc/sharc.json", "evaluate sharc sharc-run", SHARC, (0,), "answer"),
    *(("jwhr/answered.jsonl", "run jwhr out", JWHR, (0,), field) for field in ("id", "question", "references")),
    *(("jwhr/answered.jsonl", "evaluate jwhr jwhr-run", JWHR, (0, "answer"), field) for field in ("text", "sentences")),
    *(
        ("jwhr-run/run.jsonl", "evaluate jwhr jwhr-run", JWHR, (0, "answer", "sentences", 0), field)
        for field in ("text", "citations")
    ),
]
"""A file, the command that reads it, its records, the way to a record in them, and a field of it."""

MAY_BE_MISSING = {"Model_rewrite", "Model_answer", "Truth_passages", "id"}
"""Fields without which a file is right."""


def _fields() -> list[Case]:
    cases = []
    for file, command, records, path, field in FIELDS:
        for what, value in (("missing", ...), ("an object", {"a": 1})):
            if what != "missing" or field not in MAY_BE_MISSING:
                text = changed(records, (*path, field), value)
                cases.append(
                    case(
                        f"{file}: {field} is {what}",
                        f"{command} --task {file.split('-')[0].split('/')[0].replace('squad', 'mrqa')}",
                        {file: text},
                        says=(file, field),
                    )
                )
    return cases


def _passages(*records: object) -> dict[str, str]:
    return {"passages.jsonl": lines(*records)}


INDEX = "index passages.jsonl --collection made"
GIVEN = [
    ("an id of blanks", {"id": "  ", "text": "x"}, "id"),
    ("an empty id", {"id": "", "text": "x"}, "id"),
    ("no id", {"text": "x"}, "id"),
    ("no text", {"id": "a"}, "text"),
    ("a text that is a number", {"id": "a", "text": 7}, "text"),
    ("a title that is a list", {"id": "a", "text": "x", "title": ["t"]}, "title"),
    ("a meta that is a text", {"id": "a", "text": "x", "meta": "m"}, "meta"),
    ("a meta of objects", {"id": "a", "text": "x", "meta": {"m": {"n": 1}}}, "meta"),
    ("an id that is a fraction", {"id": 1.5, "text": "x"}, "id"),
    ("an id with a line's end", {"id": "a\nb", "text": "x"}, "id"),
]

CASES = [
    *_fields(),
    *(
        case(f"passages: {name}", INDEX, _passages(record), says=("passages.jsonl:1", word))
        for name, record, word in GIVEN
    ),
    case("passages: one id of two texts", INDEX, _passages(PASSAGES[0], {"id": "faust", "text": "x"}), says="faust"),
    case(
        "passages: the same id twice",
        INDEX,
        _passages(PASSAGES[0], PASSAGES[1], PASSAGES[0]),
        exits=0,
        says="kept once",
    ),
    case("passages: one token of 100,000 letters", INDEX, _passages({"id": "a", "text": "x" * 100_000}), exits=0),
    case(
        "passages: a text of combining marks", INDEX, _passages({"id": "a", "text": "a" + "\u0301" * 20_000}), exits=0
    ),
    case(
        "questions: out of order", RUNS, {"qrecc/questions.json": json.dumps(QUESTIONS[::-1])}, exits=0, says="sorted"
    ),
    case(
        "questions: a conversation of 300 turns",
        RUNS,
        {"qrecc/questions.json": json.dumps([{**QUESTIONS[0], "Turn_no": n} for n in range(1, 301)])},
        exits=0,
    ),
    case(
        "run.json: scores that are lists",
        EVALUATE,
        {"qrecc-run/run.json": changed(RUN, (0, "Model_passages"), {"a": [1]})},
        says="Model_passages",
    ),
    case("truth: none", EVALUATE, {"qrecc/ground-truth.json": "[]"}, exits=0, says="ignored 2 turns"),
    case(
        "mrqa: a line that is no record",
        "run mrqa out",
        {"mrqa/dev.jsonl.gz": None, "mrqa/dev.jsonl": lines(*MRQA, [1])},
        says="dev.jsonl",
    ),
    case(
        "mrqa: gzip cut off",
        "run mrqa out --task mrqa",
        {"mrqa/dev.jsonl.gz": GOOD["mrqa/dev.jsonl.gz"][:60]},
        says="gzip",
    ),
    case(
        "poleval: more lines than questions",
        "evaluate poleval poleval-run",
        {"poleval-run/out.tsv": "2-0\n1-0\n"},
        says="out.tsv",
    ),
    case(
        "poleval: a question without a column", "run poleval out", {"poleval/in.tsv": "Która rzeka?\n"}, says="in.tsv"
    ),
    case(
        "sharc: a history of 500 exchanges",
        "run sharc out",
        {
            "sharc/sharc.json": changed(
                SHARC, (0, "history"), [{"follow_up_question": "Are you over 60?", "follow_up_answer": "Yes"}] * 500
            )
        },
        exits=0,
    ),
    case(
        "jwhr: a citation of no reference",
        "evaluate jwhr jwhr-run",
        {
            "jwhr-run/run.jsonl": json.dumps(
                json.loads(changed(JWHR, (0, "answer", "sentences", 0, "citations"), [9]))[0]
            )
        },
        exits=0,
    ),
]


def test_records(hostile, check):
    check(hostile)
