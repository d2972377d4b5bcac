"""The metadata files of a run folder, written atomically."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import yaml

from convqa.driver.fingerprint import differences, git_commit, versions
from convqa.driver.journal import JOURNAL
from convqa.errors import InputError, OtherRun
from convqa.files import read_json, replace_surrogates, whole_file
from convqa.pipeline.document import PipelineDocument

META = "run.meta.json"
RESOLVED = "pipeline.resolved.yaml"
IR_METADATA = "ir-metadata.yml"

SHARD = "shard"
"""The status of a finished shard."""


def begin(
    folder: Path,
    mark: Mapping[str, Any],
    document: PipelineDocument,
    run_file: str,
    restart: bool,
    source: Path,
    language: str,
) -> dict[str, Any]:
    """Start a run, or continue the run in the folder, and return its metadata. ``restart`` removes the old run.

    :param document: the resolved pipeline.
    :param source: the input, noted for scoring the run later. :param language: the collection's language.
    :raises InputError: if the folder holds a run with another fingerprint, without ``restart``.
    """
    old: dict[str, Any] = {}
    if restart:
        for name in (JOURNAL, run_file, IR_METADATA):
            (folder / name).unlink(missing_ok=True)
    else:
        with suppress(InputError):
            old = read_meta(folder)
        if not {"fingerprint", "started"} <= old.keys():
            for name in (JOURNAL, run_file):
                if (folder / name).exists():
                    raise InputError(
                        f"output {folder}: holds a {name} without a readable {META}. "
                        "Give another folder, or --restart to start over."
                    )
        elif changed := differences(old["fingerprint"], mark):
            raise OtherRun(
                f"output {folder}: holds a run that differs from this one in: {', '.join(changed)}. Compare with "
                f"its {RESOLVED} and {META}. Give another folder, or --restart to delete that run."
            )
    meta = {
        "status": "unfinished",
        "fingerprint": dict(mark),
        "input": replace_surrogates(str(source.resolve())),
        "language": language,
        "started": old.get("started", _now()),
        "command": replace_surrogates([Path(sys.argv[0]).name, *sys.argv[1:]]),  # names may not be UTF-8
        "versions": versions(),
        "git_commit": git_commit(),
        "seed": None,
    }
    _write(folder / RESOLVED, document.to_yaml().encode())
    _write_meta(folder, meta)
    return meta


def finish(
    folder: Path,
    meta: Mapping[str, Any],
    data: Mapping[str, Any],
    is_shard: bool = False,
) -> None:
    """Record the end of a run or of a shard. :param meta: its metadata. :param data: what to add to it."""
    status = SHARD if is_shard else "done"
    ended = {**meta, **data, "status": status, "finished": _now()}
    _write_meta(folder, ended)
    if not is_shard:
        ir_metadata = yaml.safe_dump(_ir_metadata(ended), sort_keys=False, allow_unicode=True)
        _write(folder / IR_METADATA, ir_metadata.encode())


def _write_meta(folder: Path, meta: Mapping[str, Any]) -> None:
    _write(folder / META, orjson.dumps(meta, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _write(path: Path, data: bytes) -> None:
    with whole_file(path) as stream:
        stream.write(data)


def read_meta(folder: Path) -> dict[str, Any]:
    """Return a run's metadata, {} without any.

    :raises InputError: if the file is malformed.
    """
    path = folder / META
    if not path.is_file():
        return {}
    meta = read_json(path, "the metadata of a run")
    if not isinstance(meta, dict):
        raise InputError(f"{path}: expected the metadata of a run, an object. Run again.")
    return meta


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _ir_metadata(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return provenance as specified by ir_metadata (Breuer, Keller and Schaer, SIGIR 2022)."""
    mark = meta["fingerprint"]
    return {
        "ir_metadata": "0.1",
        "platform": {
            "hardware": {"cpu": {"architecture": platform.machine(), "number of cores": os.cpu_count()}},
            "operating system": {"kernel": platform.release(), "distribution": platform.system()},
            "software": {"libraries": {"python": [f"{name}=={version}" for name, version in meta["versions"].items()]}},
        },
        "implementation": {
            "executable": {"cmd": " ".join(meta["command"])},
            "source": {"lang": "python", "commit": meta["git_commit"]},
        },
        "resources": {"runtime": {"seconds": meta["seconds"], "by stage": meta["timings"]}},
        "data": {"test collection": {"name": mark["task"], "source": mark["collection"]}},
        "method": {"automatic": True, "score ties": "passage id descending", "pipeline": RESOLVED},
    }
