"""Runs and truths at which official scripts stop, and some at which they do not."""

from __future__ import annotations

import json

from hostile import GOOD, RUN, TRUTH, case

BOM = b"\xef\xbb\xbf"
RUN_FILE = "qrecc-run/run.json"


def _marked(file):
    content = GOOD[file]
    return {file: BOM + (content.encode() if isinstance(content, str) else content)}


def _turn(**fields):
    """The run, with other fields of its second turn."""
    return {RUN_FILE: json.dumps([RUN[0], RUN[1] | fields])}


EVALUATE = "evaluate qrecc qrecc-run"
CASES = [
    *(
        case(f"{command.split()[0]}: BOM in {file}", command, _marked(file), says=(file, "byte order mark"))
        for command, file in (
            (EVALUATE, RUN_FILE),
            (EVALUATE, "qrecc/ground-truth.json"),
            ("validate qrecc qrecc-run", RUN_FILE),
            ("evaluate mrqa mrqa-run --task mrqa", "mrqa-run/predictions.json"),
            ("validate mrqa mrqa-run", "mrqa-run/predictions.json"),
            ("evaluate sharc sharc-run", "sharc-run/predictions.json"),
            ("validate sharc sharc-run", "sharc-run/predictions.json"),
            ("evaluate sharc sharc-run", "sharc/sharc.json"),
        )
    ),
    *(
        case(
            f"{command}: half a character in {field}", f"{command} qrecc qrecc-run", _turn(**{field: value}), says=field
        )
        for field, value in (("Model_answer", "x\ud800"), ("Model_passages", {"p\udfff": 1.0}))
        for command in ("evaluate", "validate")
    ),
    *(
        case(
            f"evaluate --qrels: {name}",
            "evaluate trec-run --qrels qrels.txt",
            {"trec-run/run.trec": "1_1 Q0 a 1 1.0 x\n", "qrels.txt": content},
            says=("qrels.txt", "line 1"),
        )
        for name, content in (
            ("too few columns", "1_1 0 a\n"),
            ("a grade that is none", "1_1 0 a high\n"),
            ("a grade that would take all memory", "1_1 0 a 2147483648\n"),
            ("bytes", b"\x00\xff" * 100),
        )
    ),
    case(
        "evaluate --qrels: of other turns",
        "evaluate trec-run --qrels qrels.txt",
        {"trec-run/run.trec": "1_1 Q0 a 1 1.0 x\n", "qrels.txt": "2_1 0 a -2\n"},
        says="judges no turn",
    ),
    case(
        "validate: half a character in ShARC's answer",
        "validate sharc sharc-run",
        {"sharc-run/predictions.json": r'[{"utterance_id": "u1", "answer": "\ud800"}]'},
        says=("answer", "lone surrogates"),
    ),
    case("evaluate: NaN as a score", EVALUATE, _turn(Model_passages={"goethe": float("nan")}), says="NaN"),
    case("evaluate: 1e39 as a score", EVALUATE, _turn(Model_passages={"goethe": 1e39, "b": 1}), exits=0),
    case("evaluate: NUL in an id", EVALUATE, _turn(Model_passages={"goethe\0x": 1.0}), exits=0),
    case("evaluate: no passages but null", EVALUATE, _turn(Model_passages=None), says="Model_passages"),
    case("evaluate: citations of others", EVALUATE, _turn(Model_citations=["goethe"]), exits=0, says="Model_citations"),
    case("evaluate: another turn's number", EVALUATE, _turn(Turn_no=-1e300), exits=0, says="--partial"),
    case(
        "evaluate: no true answers",
        f"{EVALUATE} --no-answering",
        {"qrecc/ground-truth.json": json.dumps([{**turn, "Truth_answer": None} for turn in TRUTH])},
        says="Truth_answer",
    ),
    case("evaluate: a negative seed", f"{EVALUATE} --seed -1", says="--seed"),
    case("evaluate: nothing of the truth alone", f"{EVALUATE} --partial", {RUN_FILE: "[]"}, says="--partial"),
]


def test_scores(hostile, check):
    check(hostile)
