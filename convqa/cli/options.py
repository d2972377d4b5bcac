"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from convqa.errors import InputError

if TYPE_CHECKING:
    from convqa.components.encoding import ModelOptions
    from convqa.pipeline.llm import Llm
    from convqa.qa import QA

PipelineName = Annotated[str, typer.Option("--pipeline", help="Name of a shipped pipeline, or a YAML file.")]
Collection = Annotated[
    str | None,
    typer.Option(
        "--collection",
        help="Collection to search: a folder made by convqa index, elasticsearch://HOST:PORT/INDEX, anserini:FOLDER, "
        "a file or name in configs/collections, or a JSONL file of passages (plain or gzip).",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NODE.PARAM=VALUE", help="Set a parameter of the pipeline. Repeatable."),
]
LlmName = Annotated[
    str | None,
    typer.Option(
        "--llm",
        metavar="URL_OR_NAME",
        help="Rewrite questions and write answers with a language model: the URL of an OpenAI-compatible server, or "
        "a file or name in configs/llms. The API key is read from CONVQA_LLM_KEY.",
    ),
]
LlmModel = Annotated[str | None, typer.Option("--llm-model", metavar="NAME", help="Name of the model on that server.")]
LlmRole = Annotated[
    str | None,
    typer.Option(
        "--llm-role",
        metavar="ROLES",
        help="Tasks of the language model: rewrite, answer or both.",
        show_default="rewrite,answer",
    ),
]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="FIELD=VALUE",
        help="Search only passages whose meta field has this value. Repeatable: any value of a repeated field "
        "matches, and all fields must match.",
    ),
]
Device = Annotated[
    Literal["auto", "cpu", "cuda", "mps"],
    typer.Option("--device", help="Device of the models. auto: CPU for shipped models, otherwise a GPU if available."),
]
Precision = Annotated[
    Literal["auto", "float32", "bfloat16", "int8"],
    typer.Option("--precision", help="Numeric precision of the models (see docs/reference/models.md)."),
]
K1 = Annotated[
    float | None,
    typer.Option(
        "--k1",
        min=0,
        help="BM25 k1 of the Elasticsearch index (default 0.82)."
    ),
]  # fmt: skip
B = Annotated[
    float | None,
    typer.Option(
        "--b", min=0, max=1, help="BM25 b of the Elasticsearch index (default 0.68)."
    ),
]  # fmt: skip
Replicas = Annotated[int | None, typer.Option("--replicas", min=0, help="Replicas of the Elasticsearch index.")]

ExecutorName = Annotated[
    Literal["local", "processes", "ray"],
    typer.Option(
        "--executor",
        help="Where the work runs: in this process, in several processes, or on Ray (local, or at RAY_ADDRESS).",
    ),
]
WorkerCount = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Number of processes or Ray actors.", show_default="one per CPU"),
]
VectorPrecision = Annotated[
    Literal["float32", "float16", "int8", "bit"] | None,
    typer.Option("--vector-precision", help="Stored precision of vectors (default float32)."),
]
VectorIndex = Annotated[
    Literal["auto", "exact", "hnsw"] | None,
    typer.Option("--vector-index", help="Type of vector index. auto: chosen by the search engine."),
]


def _permit(asked: bool) -> bool:
    if asked:
        # Child processes inherit the environment.
        os.environ["CONVQA_ALLOW_DOWNLOAD"] = "1"
    return asked


AllowDownload = Annotated[
    bool,
    typer.Option(
        "--allow-download",
        callback=_permit,
        help="Allow downloading Hugging Face models (or set CONVQA_ALLOW_DOWNLOAD=1).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def given(**options: object) -> dict[str, object]:
    """Return the options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def needed(position: Path | None, option: Path | None, name: str, flag: str) -> Path:
    """Return a path that is given either by position or by option.

    :raises InputError: if it is missing or given twice.
    """
    if position is not None and option is not None:
        raise InputError(f"{name} is given twice: {position} and {option}.")
    if (path := position or option) is None:
        raise InputError(f"{name} ({flag}) is missing. See --help.")
    return path


def parsed(settings: list[str] | None, form: str = "NODE.PARAMETER") -> dict[str, Any]:
    """Parse ``--set``; values are YAML.

    :raises InputError: for a pair without ``=`` or name, or a value that is not YAML.
    """
    return {name: value for name, value, _ in _pairs(settings, "--set", form)}


def accepted(filters: list[str] | None) -> dict[str, list[Any]]:
    """Parse ``--filter``. A repeated field accepts all its values. A date remains a string.

    >>> accepted(["set=wiki", "year=2001", "year=2002", "day=2001-02-03"])
    {'set': ['wiki'], 'year': [2001, 2002], 'day': ['2001-02-03']}
    """
    accepted_values: dict[str, list[Any]] = {}
    for name, value, written in _pairs(filters, "--filter", "FIELD"):
        accepted_values.setdefault(name, []).append(written if isinstance(value, date) else value)
    return accepted_values


def _pairs(given: list[str] | None, option: str, form: str) -> Iterator[tuple[str, Any, str]]:
    """Yield the name, the value parsed as YAML and the value as written of each ``NAME=VALUE``."""
    from convqa.safe_yaml import parse_yaml

    for pair in given or ():
        name, _, value = pair.partition("=")
        if not name.strip() or "=" not in pair:
            raise InputError(f"{option} {pair}: expected {form}=VALUE.")
        yield name.strip(), parse_yaml(value, f"{option} {name.strip()}: the value"), value.strip()


@dataclass(frozen=True)
class ModelSettings:
    """Options of commands that load models."""

    device: Device = "auto"
    precision: Precision = "auto"
    allow_download: AllowDownload = False

    @property
    def models(self) -> ModelOptions:
        """How models run where the pipeline file does not say."""
        options = {"device": self.device, "precision": self.precision}
        return {name: value for name, value in options.items() if value != "auto"}  # type: ignore[return-value]


@dataclass(frozen=True)
class PipelineOptions(ModelSettings):
    """Options of commands that load a pipeline."""

    collection: Collection = None
    settings: Settings = None
    llm: LlmName = None
    llm_model: LlmModel = None
    llm_role: LlmRole = None

    @property
    def overrides(self) -> dict[str, Any]:
        return parsed(self.settings)

    def load(self, pipeline: str) -> QA:
        """Load a pipeline bound to the collection."""
        from convqa.qa import load

        return load(pipeline, self.collection, self.overrides, self.language_model(), options=self.models)

    def language_model(self, fallback: bool | None = None) -> Llm | None:
        """Return the language model of ``--llm``, None without one.

        :raises InputError: for an unknown one, or for ``--llm-model`` or ``--llm-role`` without ``--llm``.
        """
        from convqa.pipeline.llm import read_llm

        if self.llm is None:
            if self.llm_model is not None or self.llm_role is not None:
                raise InputError("--llm is missing: the server of the language model, such as --llm ollama.")
            return None
        roles = None if self.llm_role is None else [role.strip() for role in self.llm_role.split(",") if role.strip()]
        return read_llm(self.llm, self.llm_model, roles, fallback=fallback)


def print_json(data: object) -> None:
    """Print a value as indented JSON."""
    import orjson

    from convqa.files import replace_surrogates

    typer.echo(orjson.dumps(replace_surrogates(data), option=orjson.OPT_INDENT_2).decode())
