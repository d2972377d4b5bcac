"""Grids, comparisons and recordings of what is broken."""

from __future__ import annotations

import json

from hostile import case

GRID = "pipeline: copy-bm25\naxes: {row: {a: {}, b: {retriever.k1: 2.0}}}\n"
ABLATE = "ablate grid.yaml qrecc out --quiet"
RECORDED = "run qrecc out --pipeline copy-bm25 --set retriever.type=recorded --set retriever.path=a.trec --quiet"
REWRITTEN = "run qrecc out --pipeline copy-bm25 --set rewriter.type=recorded --set rewriter.path=a.json --quiet"

RECORD = {
    "name": "n", "question": "<script>", "base": "a", "pipeline": "p", "measures": [], "versions": {},
    "inputs": [{"name": "i", "path": "qrecc", "truth": "qrecc", "history": "none", "conversations": "all", "turns": 2}],
    "rows": [{"name": "a", "values": {}}, {"name": "b\n|", "values": {}}],
    "cells": [
        {"row": row, "input": "i", "folder": folder, "status": "done", "message": "", "milliseconds": {},
         "measures": {"MRR": {"mean": 1e308, "low": -1, "high": 2, "turns": 2}}}
        for row, folder in (("a", "../qrecc-run"), ("b\n|", "/nowhere"), ("z", ""))
    ],
}  # fmt: skip

CASES = [
    case("a grid", ABLATE, {"grid.yaml": GRID}, exits=0),
    case("a grid without a base", ABLATE, {"grid.yaml": "axes: {row: {a: {}}}"}, says="pipeline"),
    case("a secret in a grid", ABLATE, {"grid.yaml": GRID + "override: {llm.api_key: sk-1234567}"}, hides="sk-1234"),
    case("a grid that names no node", ABLATE, {"grid.yaml": GRID.replace("retriever", "retreiver")}, says="row b"),
    case("a row that leaves its folder", ABLATE, {"grid.yaml": GRID.replace("a:", "'../../a':")}, exits=0),
    case("no output", "ablate grid.yaml qrecc", {"grid.yaml": GRID}, says="then OUTPUT"),
    case("an output that is a file", "ablate grid.yaml qrecc passages.jsonl", {"grid.yaml": GRID}, says="written"),
    case("an output in the input", "ablate grid.yaml qrecc qrecc/out", {"grid.yaml": GRID}, says="read-only"),
    case("a damaged record", ABLATE, {"grid.yaml": GRID, "out/ablation.json": '{"cells": 3'}, exits=0),
    case("a recording", RECORDED, {"a.trec": "1_1 Q0 faust 1 2.0 x\n"}, exits=0),
    case("a recording with too few columns", RECORDED, {"a.trec": "1_1 Q0 faust 1 2.0\n"}, says="line 1"),
    case("a recording with a score that is none", RECORDED, {"a.trec": "1_1 Q0 faust 1 inf x\n"}, says="line 1"),
    case("a recording of another kind", RECORDED, {"a.trec": b"\x00\xff" * 100}, says="UTF-8"),
    case("rewrites that are numbers", REWRITTEN, {"a.json": '[{"Turn_no": 1, "Question": 3}]'}, says="record 0"),
    case("rewrites without turns", REWRITTEN, {"a.json": '[{"Question": "Who?"}]'}, says="record 0"),
    case("a report of a run", "report qrecc-run", says="expected the record of convqa ablate"),
    case(
        "a report of a record that was cut off",
        "report out",
        {"out/ablation.json": '{"cells": [{'},
        says="invalid JSON",
    ),
    case(
        "a report of cells that are elsewhere, or nowhere",
        "report out",
        {"out/ablation.json": json.dumps(RECORD)},
        says="/nowhere",
    ),
    case(
        "a report of means that are none",
        "report out",
        {"out/ablation.json": json.dumps({**RECORD, "cells": [{**RECORD["cells"][0], "measures": {"MRR": 3}}]})},
        says="measures.MRR",
    ),
    case(
        "a report where nothing can be written",
        "report out --output qrecc/questions.json/report.html",
        {"out/ablation.json": json.dumps({**RECORD, "cells": []})},
        exits=(1, 2),
        says="report.html",
    ),
]


def test_experiments(hostile, check):
    check(hostile)
