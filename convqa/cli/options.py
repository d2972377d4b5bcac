"""Options that several commands share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from convqa.errors import InputError
from convqa.workers import Executor

if TYPE_CHECKING:
    from convqa.components.encoding import ModelOptions
    from convqa.pipeline.llm import Llm
    from convqa.qa import QA


def _pipelines(incomplete: str) -> list[str]:  # noqa: ARG001 - the signature of completions
    """Complete the name of a shipped pipeline."""
    from convqa.places import shipped_yaml

    return shipped_yaml("pipelines")


def _collections(incomplete: str) -> list[str]:
    """Complete a collection in a folder, or the name of a file in configs/collections."""
    from convqa.places import shipped_yaml
    from convqa.stores import find_stores

    found = find_stores(os.path.dirname(incomplete) or ".")
    return [*map(os.path.normpath, found), *shipped_yaml("configs", "collections")]


PipelineName = Annotated[
    str, Option("--pipeline", help="Name of a shipped pipeline, or a YAML file.", autocompletion=_pipelines)
]
Collection = Annotated[
    str | None,
    Option(
        help="Collection to search: a folder made by convqa index, elasticsearch://HOST:PORT/INDEX, anserini:FOLDER, "
        "a file or name in configs/collections, or a JSONL file of passages (plain or gzip). For ask, chat, serve and "
        "mcp, CONVQA_COLLECTION is the default.",
        autocompletion=_collections,
    ),
]
Settings = Annotated[
    list[str] | None,
    Option("--set", metavar="NODE.PARAM=VALUE", help="Set a parameter of the pipeline. Repeatable."),
]
Qrels = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="Score rankings by the graded judgments of a track, TREC qrels, instead of the task's truth "
        "(with the package ir_measures).",
    ),
]
DeviceName = Literal["auto", "cpu", "cuda", "mps"]
ExecutorName = Annotated[
    Executor,
    Option(
        help="Where the work runs: in this process, in several processes, or on Ray (local, or at RAY_ADDRESS).",
    ),
]
WorkerCount = Annotated[
    int | None,
    Option(min=1, help="Number of processes or Ray actors.", show_default="one per CPU"),
]


def _permit_download(is_given: bool) -> bool:
    if is_given:
        # Child processes inherit the environment.
        os.environ["CONVQA_ALLOW_DOWNLOAD"] = "1"
    return is_given


AllowDownload = Annotated[
    bool,
    Option(
        "--allow-download",
        callback=_permit_download,
        help="Allow downloading Hugging Face models (or set CONVQA_ALLOW_DOWNLOAD=1).",
    ),
]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, Option("--quiet", help="Hide progress and summary.")]
Restart = Annotated[bool, Option("--restart", help="Delete existing runs in OUTPUT first.")]
TaskName = Annotated[str, Option("--task", help="Name of the task, or auto.")]
Breakdown = Annotated[
    list[str] | None,
    Option(
        metavar="FIELD",
        help="Group turns by history, depth, answerable (QReCC) or a field of the truth. Repeatable.",
    ),
]


def default_collection() -> str | None:
    """Return the collection of CONVQA_COLLECTION, None without it."""
    collection = os.environ.get("CONVQA_COLLECTION")
    return os.path.expanduser(collection) if collection else None


def given(**options: object) -> dict[str, object]:
    """Return the options that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def needed(
    position: Path | None,
    option: Path | None,
    name: str,
    flag: str,
) -> Path:
    """Return a path that is given either by position or by option.

    :raises InputError: if it is missing or given twice.
    """
    if position is not None and option is not None:
        raise InputError(f"{name} is given twice: {position} and {option}.")
    path = position or option
    if path is None:
        raise InputError(f"{name} ({flag}) is missing. See --help.")
    return path


def parse_settings(
    settings: list[str] | None,
    form: str = "NODE.PARAMETER",
    option: str = "--set",
) -> dict[str, Any]:
    """Parse ``--set`` or another ``option``; values are YAML.

    :raises InputError: for a pair without ``=`` or name, or a value that is not YAML.
    """
    from convqa.safe_yaml import parse_yaml

    parsed = {}
    for pair in settings or ():
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not name or not equals:
            raise InputError(f"{option} {pair}: expected {form}=VALUE.")
        parsed[name] = parse_yaml(value, f"{option} {name}: the value")
    return parsed


@dataclass(frozen=True)
class ModelSettings:
    """Options of commands that load models."""

    device: Annotated[
        DeviceName,
        Option(help="Device of the models. auto: CPU for shipped models, otherwise a GPU if available."),
    ] = "auto"
    precision: Annotated[
        Literal["auto", "float32", "bfloat16"],
        Option(help="Numeric precision of the models (see docs/reference/models.md)."),
    ] = "auto"
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
    llm: Annotated[
        str | None,
        Option(
            metavar="URL_OR_NAME",
            help="Rewrite questions and write answers with a language model: the URL of an OpenAI-compatible server, "
            "or a file or name in configs/llms. The API key is read from CONVQA_LLM_KEY.",
        ),
    ] = None
    llm_model: Annotated[str | None, Option(metavar="NAME", help="Name of the model on that server.")] = None
    llm_role: Annotated[
        str | None,
        Option(
            metavar="ROLES",
            help="Tasks of the language model: rewrite, answer or both.",
            show_default="rewrite,answer",
        ),
    ] = None

    @property
    def overrides(self) -> dict[str, Any]:
        """The changes of the pipeline by ``--set``."""
        return parse_settings(self.settings)

    def load(self, pipeline: str) -> QA:
        """Load a pipeline bound to the collection."""
        from convqa.qa import load

        collection = self.collection or default_collection()
        return load(pipeline, collection, self.overrides, self.language_model(), options=self.models)

    def language_model(self, fallback: bool | None = None) -> Llm | None:
        """Return the language model of ``--llm``, None without one.

        :raises InputError: for an unknown one, or for ``--llm-model`` or ``--llm-role`` without ``--llm``.
        """
        from convqa.pipeline.llm import read_llm

        if self.llm is None:
            if self.llm_model is not None or self.llm_role is not None:
                raise InputError("--llm is missing: the server of the language model, such as --llm ollama.")
            return None
        roles = None
        if self.llm_role is not None:
            names = (role.strip() for role in self.llm_role.split(","))
            roles = [name for name in names if name]
        return read_llm(self.llm, self.llm_model, roles, fallback=fallback)


def print_json(data: object) -> None:
    """Print a value as indented JSON."""
    import orjson

    from convqa.files import replace_surrogates

    typer.echo(orjson.dumps(replace_surrogates(data), option=orjson.OPT_INDENT_2).decode())
