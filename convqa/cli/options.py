"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from convqa.errors import InputError

if TYPE_CHECKING:
    from convqa.components.encoding import ModelOptions
    from convqa.pipeline.llm import Llm

PipelineName = Annotated[str, typer.Option("--pipeline", help="A shipped pipeline, or a YAML file's path.")]
Collection = Annotated[
    str | None,
    typer.Option(
        "--collection",
        help="Where the passages are: a folder made by convqa index, elasticsearch://HOST:PORT/INDEX, anserini:FOLDER, "
        "a YAML file of configs/collections or its name, or a file of passages (JSONL, plain or gzip).",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NODE.PARAM=VALUE", help="Change one parameter of the pipeline; may be repeated."),
]
LlmName = Annotated[
    str | None,
    typer.Option(
        "--llm",
        metavar="URL_OR_NAME",
        help="Let a language model rewrite questions and write answers: a server of OpenAI's API (its key in "
        "CONVQA_LLM_KEY, if it wants one), a name or a file of configs/llms.",
    ),
]
LlmModel = Annotated[str | None, typer.Option("--llm-model", metavar="NAME", help="The model, as its server calls it.")]
LlmRole = Annotated[
    str | None,
    typer.Option(
        "--llm-role",
        metavar="ROLES",
        help="What the model does: rewrite, answer, or both.",
        show_default="rewrite,answer",
    ),
]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="FIELD=VALUE",
        help="Answer only from passages whose meta has this value; may be repeated: the same field accepts either "
        "value, all fields must match.",
    ),
]
Device = Annotated[
    Literal["auto", "cpu", "cuda", "mps"],
    typer.Option(
        "--device", help="What the models run on; auto: the CPU for those that ship, else a GPU where there is one."
    ),
]
Precision = Annotated[
    Literal["auto", "float32", "bfloat16", "int8"],
    typer.Option("--precision", help="What the models compute in; auto: as docs/reference/models.md has it."),
]
K1 = Annotated[
    float | None,
    typer.Option(
        "--k1",
        min=0,
        help="BM25's k1 of an index that fixes it (Elasticsearch; 0.82 if not named)."
    ),
]  # fmt: skip
B = Annotated[
    float | None,
    typer.Option(
        "--b", min=0, max=1, help="BM25's b of an index that fixes it (Elasticsearch; 0.68 if not named)."
    ),
]  # fmt: skip
Replicas = Annotated[int | None, typer.Option("--replicas", min=0, help="Copies of an index on a server.")]

ExecutorName = Annotated[
    Literal["local", "processes", "ray"],
    typer.Option(
        "--executor",
        help="What does the work: this process, processes of this machine, or Ray: a cluster on it, or at RAY_ADDRESS.",
    ),
]
WorkerCount = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Processes, or actors of Ray.", show_default="one for each processor"),
]
VectorPrecision = Annotated[
    Literal["float32", "float16", "int8", "bit"] | None,
    typer.Option("--vector-precision", help="How vectors are kept; float32 if not named."),
]
VectorIndex = Annotated[
    Literal["auto", "exact", "hnsw"] | None,
    typer.Option("--vector-index", help="Of vectors; auto is the engine's choice."),
]

TakeOver = Annotated[
    bool,
    typer.Option(
        "--take-over",
        help="On Elasticsearch: write though a process of another machine, which is gone, still holds the collection.",
    ),
]


def _permit(asked: bool) -> bool:
    if asked:
        # The environment reaches the processes that a command may start.
        os.environ["CONVQA_ALLOW_DOWNLOAD"] = "1"
    return asked


AllowDownload = Annotated[
    bool,
    typer.Option(
        "--allow-download",
        callback=_permit,
        help="Download a Hugging Face model that is not on this machine (or set CONVQA_ALLOW_DOWNLOAD=1).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def given(**options: object) -> dict[str, object]:
    """The options that were given: those that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def options_of(device: str, precision: str) -> ModelOptions:
    """How the models run that no pipeline's file says it of; empty where all is left to the rule."""
    named = {"device": device, "precision": precision}
    return {name: value for name, value in named.items() if value != "auto"}  # type: ignore[return-value]


def needed(position: Path | None, option: Path | None, name: str, flag: str) -> Path:
    """A path that must be given, by position or by option.

    :raises InputError: if it is not given, or twice.
    """
    if position is not None and option is not None:
        raise InputError(f"{name} is given twice: {position} and {option}.")
    if (path := position or option) is None:
        raise InputError(f"{name} ({flag}) is missing. See --help.")
    return path


def parsed(settings: list[str] | None, form: str = "NODE.PARAMETER") -> dict[str, Any]:
    """The pairs of ``--set`` as a mapping; values are read as YAML.

    :raises InputError: for a pair without ``=`` or name, or a value that is not YAML.
    """
    return {name: value for name, value, _ in _pairs(settings, "--set", form)}


def accepted(filters: list[str] | None) -> dict[str, list[Any]]:
    """The pairs of ``--filter`` as a mapping; a field that is given twice accepts both values. A date stays a text.

    >>> accepted(["set=wiki", "year=2001", "year=2002", "day=2001-02-03"])
    {'set': ['wiki'], 'year': [2001, 2002], 'day': ['2001-02-03']}
    """
    found: dict[str, list[Any]] = {}
    for name, value, written in _pairs(filters, "--filter", "FIELD"):
        found.setdefault(name, []).append(written if isinstance(value, date) else value)
    return found


def _pairs(given: list[str] | None, option: str, form: str) -> Iterator[tuple[str, Any, str]]:
    """Name, value read as YAML, and value as written, of each ``NAME=VALUE``."""
    from convqa.safe_yaml import parse_yaml

    for pair in given or ():
        name, _, value = pair.partition("=")
        if not name.strip() or "=" not in pair:
            raise InputError(f"{option} {pair}: wanted is {form}=VALUE.")
        yield name.strip(), parse_yaml(value, f"{option} {name.strip()}: the value"), value.strip()


def llm_of(name: str | None, model: str | None, roles: str | None, fallback: bool | None = None) -> Llm | None:
    """The language model of ``--llm``, ``--llm-model`` and ``--llm-role``; None where none is asked for.

    :raises InputError: for one that is not known, or what belongs to none.
    """
    from convqa.pipeline.llm import read_llm

    if name is None:
        if model is not None or roles is not None:
            raise InputError("--llm is missing: the server of the language model, such as --llm ollama.")
        return None
    role = None if roles is None else [role.strip() for role in roles.split(",") if role.strip()]
    return read_llm(name, model, role, fallback=fallback)


def print_json(data: object) -> None:
    """Print a value as indented JSON."""
    import orjson

    from convqa.files import replace_surrogates

    typer.echo(orjson.dumps(replace_surrogates(data), option=orjson.OPT_INDENT_2).decode())
