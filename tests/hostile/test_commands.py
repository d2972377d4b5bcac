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
    case("ask a question of a megabyte", CHAT, stdin="faust " * 170_000 + "\n", exits=0, says="Goethe wrote Faust"),
    case("ask in right to left marks", f"{ASK} '\u202efaust\u202c'", exits=0),
    case("ask emoji", f"{ASK} '🤷‍♀️ faust?'", exits=0),
    case("ask query syntax", f"{ASK} 'id:* AND (faust OR \"'", exits=0),
    case("ask a lone surrogate", f"{ASK} 'faust \udcff'", exits=0, says="Goethe wrote Faust"),
    case("ask 5,000 words", f"{ASK} '{' '.join(f'w{n}' for n in range(5000))}'", exits=0),
    case("chat: nothing on standard input", CHAT, exits=0),
    case("chat: an unknown command", CHAT, stdin="/frobnicate\n", exits=0),
    case("chat: only blank lines", CHAT, stdin="\n\n \n", exits=0),
    # collections and pipelines that are not
    *(
        case(f"{what}", command, says=says)
        for what, command, says in (
            ("no collection", "ask --collection nowhere faust", "nowhere"),
            ("a file that is no collection", "ask --collection qrecc-run/run.json faust", "run.json"),
            ("a folder that is no collection", "ask --collection qrecc faust", "qrecc"),
            ("a collection of no engine", "ask --collection nosuch://host/x faust", "nosuch"),
            ("a collection without a port", "ask --collection elasticsearch://127.0.0.1 faust", "elasticsearch"),
            ("a collection of an impossible port", "ask --collection elasticsearch://127.0.0.1:99999/x faust", "99999"),
            ("a collection whose port is no number", "ask --collection elasticsearch://127.0.0.1:x/x faust", ":9200"),
            ("a collection without an index", "ask --collection elasticsearch://127.0.0.1:9/ faust", "index"),
            ("a collection of an impossible name", "ask --collection 'elasticsearch://127.0.0.1:9/A*B' faust", "A*B"),
            ("an Anserini index that is none", "ask --collection anserini:qrecc faust", "qrecc"),
            ("an empty collection name", "ask --collection '' faust", "--collection"),
            ("no pipeline", "ask --collection collection --pipeline nosuch faust", "nosuch"),
            ("a pipeline that is a folder", "ask --collection collection --pipeline qrecc-run faust", "qrecc-run"),
            ("a pipeline that is JSON of something else", "check qrecc-run/run.json", "run.json"),
        )
    ),
    case(
        "a server that is not there",
        "ask --collection elasticsearch://127.0.0.1:9/x faust",
        exits=1,
        says="nothing answers at http://127.0.0.1:9",
    ),
    *(
        case(
            f"top_k {top_k} of {name}",
            f"ask --collection vectors --pipeline {name} --set retriever.top_k={top_k} faust",
            exits=0,
        )
        for top_k, name in ((2_000_000_000, "copy-bm25"), (10**23, "hybrid"))
    ),
    # options
    *(
        case(f"run {options}", f"{RUNS} {options}", says=says)
        for options, says in (
            ("--batch-size 0", "--batch-size"),
            ("--batch-size -5", "--batch-size"),
            ("--batch-size x", "--batch-size"),
            ("--limit -1", "--limit"),
            ("--limit 1e3", "--limit"),
            ("--wait -1", "--wait"),
            ("--wait nan", "--wait"),
            ("--history never", "--history"),
            ("--history gold", "Context"),
            ("--set x", "--set"),
            ("--set retriever.k1=nan", "k1"),
            ("--set retriever.k1=-1", "k1"),
            ("--set retriever.top_k=0", "top_k"),
            ("--set retriever.top_k=-3", "top_k"),
            ("--set retriever.top_k=1.5", "top_k"),
            ("--set nosuch.k1=1", "nosuch"),
            ("--set retriever.nosuch=1", "nosuch"),
            ("--set 'retriever.k1=[1'", "--set"),
            ("--set '=1'", "--set"),
            ("--set retriever=1", "--set"),
            ("--set retriever.type=os.system", "the module 'os' is not allowed"),
            ("--set retriever.type=nosuch", "nosuch"),
            ("--set 'retriever.type=!!python/object:os.system [ls]'", "--set"),
            ("--log-file nowhere/at/all/log", "--log-file"),
            ("--log-file qrecc", "--log-file"),
        )
    ),
    *(
        case(f"evaluate {options}", f"{EVALUATE} {options}", says=says)
        for options, says in (
            ("--breakdown nosuch", "nosuch"),
            ("--breakdown ''", "the field ''"),
            ("--output qrecc/questions.json", "questions.json"),
            ("--task nosuch", "nosuch"),
            ("--task mrqa", "qrecc"),
            ("--seed x", "--seed"),
            ("--resamples -1", "resamples"),
        )
    ),
    *(
        case(f"compare: {name}", f"compare {arguments}", files, exits=exits, says=says, environment=environment)
        for name, arguments, files, exits, says, environment in (
            ("nothing", "", {}, 2, "RUN", {}),
            ("a single run", "qrecc-run --truth qrecc", {}, 2, "two or more runs", {}),
            ("no truth", "qrecc-run qrecc-run", {}, 2, ("expected runs of one input", "--truth"), {}),
            ("an input that is gone", "qrecc-run qrecc-run", {META: '{"input": "nowhere"}'}, 2, "--truth", {}),
            ("an input that is no text", "qrecc-run qrecc-run", {META: '{"input": [1]}'}, 2, "--truth", {}),
            ("a damaged note of the input", "qrecc-run qrecc-run", {META: "{"}, 2, META, {}),
            ("a run beside itself", f"{SAME} --turns 4", {}, 0, ("qrecc-run (2)", "1.000"), {}),
            ("a terminal of one column", SAME, {}, 0, (), {"COLUMNS": "1"}),
            ("no such run", "qrecc-run nowhere --truth qrecc", {}, 2, "nowhere", {}),
            ("a run of another task", "qrecc-run mrqa-run --truth qrecc", {}, 2, "mrqa-run/run.json: no such file", {}),
            ("a folder without run.json", "qrecc-run qrecc --truth qrecc", {}, 2, "qrecc/run.json: no such file", {}),
            ("another --measure", f"{SAME} --measure MMR", {}, 2, "Did you mean 'MRR'", {}),
            ("another --breakdown", f"{SAME} --breakdown nosuch", {}, 2, "nosuch", {}),
            ("another --as", f"{SAME} --as html", {}, 2, "--as", {}),
            ("turns below nothing", f"{SAME} --turns -1", {}, 2, "--turns", {}),
            ("no turns in the truth", SAME, {"qrecc/ground-truth.json": "[]"}, 2, "shares no measure", {}),
            ("a run of no turns", SAME, {"qrecc-run/run.json": "[]"}, 2, "shares no measure", {}),
            (
                "runs of other turns",
                "qrecc-run other --truth qrecc",
                {"other/run.json": '[{"Conversation_no": 9, "Turn_no": 1, "Model_answer": "x", "Model_passages": {}}]'},
                2,
                ("other/run.json: lacks 2 of the 2 turns", "shares no measure"),
                {},
            ),
            (
                "names with markup and TeX",
                "qrecc-run 'a[b]_{x}&%' --truth qrecc --as markdown",
                {"a[b]_{x}&%/run.json": json.dumps(RUN)},
                0,
                r"a[b]\_\{x\}\&\%",
                {},
            ),
        )
    ),
    case("evaluate: swapped arguments", "evaluate qrecc-run qrecc", says="qrecc"),
    case("evaluate: nothing", "evaluate", says="TRUTH_DIR"),
    case("evaluate: one folder for both", "evaluate qrecc qrecc", says="run.json"),
    case("evaluate: no such folder", "evaluate nowhere qrecc-run", says="nowhere"),
    case("run: no such folder", "run nowhere out", says="nowhere"),
    case("run: output is a file", "run qrecc qrecc/questions.json --pipeline copy-bm25", says="questions.json"),
    case("run: output inside a file", "run qrecc qrecc/questions.json/out --pipeline copy-bm25", says="questions.json"),
    case("run: output is a broken link", RUNS, {"out": _link("nowhere/else")}, says="output out: cannot be written"),
    case("run: output is the input", "run qrecc qrecc --pipeline copy-bm25", says="lies in the input"),
    case("run: input and output are one file", "run qrecc/questions.json qrecc/questions.json", says="questions.json"),
    case("index: no source", "index --collection made", says="SOURCES"),
    case("index: a source that is not there", "index nowhere.jsonl --collection made", says="nowhere.jsonl"),
    case("index: a folder without passages", "index qrecc-run --collection made", says="qrecc-run"),
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
    case("index: a language of none", "index passages.jsonl --collection made --language xx", says="xx"),
    case("index: an encoder of none", "index passages.jsonl --collection made --vectors nosuch", says="nosuch"),
    case(
        "index: an encoder that is a folder of nothing",
        "index passages.jsonl --collection made --vectors qrecc",
        says="qrecc",
    ),
    case("collections show: none", "collections show nowhere", says="nowhere"),
    case("collections delete: none", "collections delete nowhere --yes", says="nowhere"),
    case("collections delete: without --yes", "collections delete collection", says="--yes"),
    case("collections delete: a folder of something else", "collections delete qrecc --yes", says="qrecc"),
    case("collections list: none", "collections list nowhere", says="nowhere"),
    case("show: none", "show nosuch", says="nosuch"),
    case("export: none", "export qrecc-run --as nosuch", says="nosuch"),
    case("export: a run without answers", "export sharc --as trec-rag", says="sharc"),
    case("train: none", "train nosuch --data .", says="nosuch"),
    case(
        "train: a recipe that is something else", "train resolver pipeline.yaml --data .", exits=2, says="pipeline.yaml"
    ),
    case("download: none", "download nosuch part made", says="nosuch"),
    case("view: none", "view nowhere", says="nowhere"),
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
    case("evaluate: a terminal of one column", EVALUATE, environment={"COLUMNS": "1"}, exits=0),
    case("ask: columns are no number", f"{ASK} faust", environment={"COLUMNS": "x"}, exits=0),
]


def test_commands(hostile, check):
    check(hostile)
