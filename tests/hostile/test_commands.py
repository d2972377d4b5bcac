"""Options, questions and places that nobody meant, for every command."""

from __future__ import annotations

import json

from hostile import RUN, case


def _link(target):
    return lambda path: path.symlink_to(target)


ASK = "ask --collection collection --pipeline copy-bm25"
CHAT = "chat --collection collection --pipeline copy-bm25"
EVALUATE = "evaluate qrecc qrecc-run"
META = "qrecc-run/run.meta.json"
SAME = "qrecc-run qrecc-run --truth qrecc"
RUNS = "run qrecc out --pipeline copy-bm25"

CASES = [
    # questions
    case("ask a question of the pipeline's own words", f"{ASK} --help-me", says="--help-me"),
    case("ask NUL through stdin", CHAT, stdin="a\0b\n", exits=0),
    case("ask control characters", f"{ASK} '\x1b[31mred\x1b[0m faust'", exits=0),
    case("ask a lone surrogate", f"{ASK} 'faust \udcff'", exits=0, says="Goethe wrote Faust"),
    case("ask 5,000 words", f"{ASK} '{' '.join(f'w{n}' for n in range(5000))}'", exits=0),
    # collections and pipelines that are not
    *(
        case(f"{what}", command, says=says)
        for what, command, says in (
            ("no collection", "ask --collection nowhere faust", "nowhere"),
            ("a file that is no collection", "ask --collection qrecc-run/run.json faust", "run.json"),
            ("a folder that is no collection", "ask --collection qrecc faust", "qrecc"),
            ("a collection of no engine", "ask --collection nosuch://host/x faust", "nosuch"),
            ("a collection of an impossible port", "ask --collection elasticsearch://127.0.0.1:99999/x faust", "99999"),
            ("a collection without an index", "ask --collection elasticsearch://127.0.0.1:9/ faust", "index"),
            ("an Anserini index that is none", "ask --collection anserini:qrecc faust", "qrecc"),
            ("no pipeline", "ask --collection collection --pipeline nosuch faust", "nosuch"),
            ("a pipeline that is JSON of something else", "check qrecc-run/run.json", "run.json"),
        )
    ),
    case(
        "a server that is not there",
        "ask --collection elasticsearch://127.0.0.1:9/x faust",
        exits=1,
        says="nothing answers at http://127.0.0.1:9",
    ),
    # options
    *(
        case(f"run {options}", f"{RUNS} {options}", says=says)
        for options, says in (
            ("--batch-size 0", "--batch-size"),
            ("--limit -1", "--limit"),
            ("--wait -1", "--wait"),
            ("--set x", "--set"),
            ("--set retriever.k1=nan", "k1"),
            ("--set retriever.top_k=0", "top_k"),
            ("--set nosuch.k1=1", "nosuch"),
            ("--set retriever.nosuch=1", "nosuch"),
            ("--set 'retriever.k1=[1'", "--set"),
            ("--set retriever.type=os.system", "the module 'os' is not allowed"),
            ("--set 'retriever.type=!!python/object:os.system [ls]'", "--set"),
            ("--log-file nowhere/at/all/log", "--log-file"),
        )
    ),
    *(
        case(f"evaluate {options}", f"{EVALUATE} {options}", says=says)
        for options, says in (
            ("--breakdown nosuch", "nosuch"),
            ("--output qrecc/questions.json", "questions.json"),
            ("--task mrqa", "qrecc"),
            ("--resamples -1", "resamples"),
        )
    ),
    *(
        case(f"compare: {name}", f"compare {arguments}", files, exits=exits, says=says, environment=environment)
        for name, arguments, files, exits, says, environment in (
            ("a damaged note of the input", "qrecc-run qrecc-run", {META: "{"}, 2, META, {}),
            ("a run beside itself", f"{SAME} --turns 4", {}, 0, ("qrecc-run (2)", "1.000"), {}),
            ("a terminal of one column", SAME, {}, 0, (), {"COLUMNS": "1"}),
            ("a run of another task", "qrecc-run mrqa-run --truth qrecc", {}, 2, "mrqa-run/run.json: no such file", {}),
            ("a run of no turns", SAME, {"qrecc-run/run.json": "[]"}, 2, "shares no measure", {}),
            (
                "names with markup",
                "qrecc-run 'a[b]_{x}&%' --truth qrecc --as markdown",
                {"a[b]_{x}&%/run.json": json.dumps(RUN)},
                0,
                "a[b]_{x}&%",
                {},
            ),
        )
    ),
    case("evaluate: swapped arguments", "evaluate qrecc-run qrecc", says="qrecc"),
    case("evaluate: nothing", "evaluate", says="TRUTH_DIR"),
    case("evaluate: one folder for both", "evaluate qrecc qrecc", says="run.json"),
    case("run: output is a file", "run qrecc qrecc/questions.json --pipeline copy-bm25", says="questions.json"),
    case("run: output is a broken link", RUNS, {"out": _link("nowhere/else")}, says="output out: cannot be written"),
    case("run: output is the input", "run qrecc qrecc --pipeline copy-bm25", says="lies in the input"),
    case("run: input and output are one file", "run qrecc/questions.json qrecc/questions.json", says="questions.json"),
    case("index: no source", "index --collection made", says="SOURCES"),
    case("index: a source that is not there", "index nowhere.jsonl --collection made", says="nowhere.jsonl"),
    case(
        "index: documents beside passages",
        "index passages.jsonl a.txt --collection made",
        {"a.txt": "A."},
        says="mixed with documents",
    ),
    case(
        "index: no document can be read",
        "index a.pdf --collection made",
        {"a.pdf": b"%PDF"},
        says="a.pdf: it is damaged",
    ),
    case(
        "index: a zip that is no Word file",
        "index a.docx --collection made",
        {"a.docx": b"PK\x05\x06" + bytes(18)},
        says="a.docx",
    ),
    case(
        "index: one of two documents",
        "index a.txt b.md --collection made",
        {"a.txt": "A.", "b.md": b"\x89PNG\x00\xff"},
        exits=1,
        says="b.md",
    ),
    case("index: onto a file", "index passages.jsonl --collection qrecc-run/run.json", says="run.json"),
    case("index: onto a folder of something else", "index passages.jsonl --collection qrecc", says="qrecc"),
    case("index: onto a collection", "index passages.jsonl --collection collection", says="--replace"),
    case("collections delete: none", "collections delete nowhere --yes", says="nowhere"),
    case("collections delete: a folder of something else", "collections delete qrecc --yes", says="qrecc"),
    case("export: a run without answers", "export sharc --as trec-rag", says="sharc"),
    case("train: none", "train nosuch --data .", says="nosuch"),
    case(
        "train: a recipe that is something else", "train resolver pipeline.yaml --data .", exits=2, says="pipeline.yaml"
    ),
    case("download: none", "download nosuch part made", says="nosuch"),
    case("serve: a port of none", "serve --port 99999", says="port"),
    case("no such command", "frobnicate", says="frobnicate"),
    # the machine
    case(
        "run: home is no folder",
        RUNS,
        environment={"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/x"},
        exits=1,
        says="cannot be written",
    ),
    case("ask: no home", f"{ASK} faust", environment={"HOME": ""}, exits=0),
    case(
        "ask: plain ASCII terminal", f"{ASK} faust", environment={"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, exits=0
    ),
    case("ask: a terminal of one column", f"{ASK} faust", environment={"COLUMNS": "1"}, exits=0),
]


def test_commands(hostile, check):
    check(hostile)
