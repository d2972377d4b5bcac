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
        help="Download a Hugging Face model that is not on this machine (or set CONVQA_ALLOW_DOWNLOAD=1).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def given(**options: object) -> dict[str, object]:
    """Return the options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def options_of(device: str, precision: str) -> ModelOptions:
    """Return how models run where the pipeline file does not say."""
    options = {"device": device, "precision": precision}
    return {name: value for name, value in options.items() if value != "auto"}  # type: ignore[return-value]


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
class PipelineOptions:
    """Options of commands that load a pipeline."""

    collection: Collection = None
    settings: Settings = None
    device: Device = "auto"
    precision: Precision = "auto"
    allow_download: AllowDownload = False

    @property
    def overrides(self) -> dict[str, Any]:
        return parsed(self.settings)

    @property
    def models(self) -> ModelOptions:
        return options_of(self.device, self.precision)

    def language_model(self, fallback: bool | None = None) -> Llm | None:  # noqa: ARG002 - a subclass has one
        """Return the language model of ``--llm``, None without one."""
        return None

    def load(self, pipeline: str) -> QA:
        """Load a pipeline bound to the collection."""
        from convqa.qa import load

        return load(pipeline, self.collection, self.overrides, self.language_model(), options=self.models)


@dataclass(frozen=True)
class LlmPipelineOptions(PipelineOptions):
    """Options of commands that load a pipeline, perhaps with a language model."""

    llm: LlmName = None
    llm_model: LlmModel = None
    llm_role: LlmRole = None

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
