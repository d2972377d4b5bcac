"""The metadata files of a run folder."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
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


class RunFolder:
    """Begins, continues or refuses a run in a folder. Its files are written atomically."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._meta: dict[str, Any] = {}

    @property
    def journal(self) -> Path:
        return self._folder / JOURNAL

    def begin(
        self,
        mark: Mapping[str, Any],
        document: PipelineDocument,
        run_file: str,
        restart: bool,
        source: Path,
        language: str,
    ) -> None:
        """Start a run, or continue the run in the folder. ``restart`` removes the old run.

        :param document: the resolved pipeline.
        :param source: the input, noted for scoring the run later. :param language: the collection's language.
        :raises InputError: if the folder holds a run with another fingerprint, without ``restart``.
        """
        old = self._read_meta()
        if restart:
            for name in (JOURNAL, run_file, IR_METADATA):
                (self._folder / name).unlink(missing_ok=True)
            old = None
        elif old is None:
            for name in (JOURNAL, run_file):
                if (self._folder / name).exists():
                    raise InputError(
                        f"output {self._folder}: holds a {name} without a readable {META}. "
                        "Give another folder, or --restart to start over."
                    )
        elif changed := differences(old["fingerprint"], mark):
            raise OtherRun(
                f"output {self._folder}: holds a run that differs from this one in: {', '.join(changed)}. Compare with "
                f"its {RESOLVED} and {META}. Give another folder, or --restart to delete that run."
            )
        self._meta = {
            "status": "running",
            "fingerprint": dict(mark),
            "input": replace_surrogates(str(source.resolve())),
            "language": language,
            "started": old["started"] if old else _now(),
            "command": replace_surrogates([Path(sys.argv[0]).name, *sys.argv[1:]]),  # names may not be UTF-8
            "versions": versions(),
            "git_commit": git_commit(),
            "seed": None,
        }
        self._write(RESOLVED, document.to_yaml().encode())
        self._write_meta()

    def finish(self, data: Mapping[str, Any], is_shard: bool = False) -> None:
        """Record the end of a run or of a shard."""
        status = SHARD if is_shard else "done"
        self._meta.update(data, status=status, finished=_now())
        self._write_meta()
        if not is_shard:
            ir_metadata = yaml.safe_dump(_ir_metadata(self._meta), sort_keys=False, allow_unicode=True)
            self._write(IR_METADATA, ir_metadata.encode())

    def _read_meta(self) -> dict[str, Any] | None:
        try:
            data = orjson.loads((self._folder / META).read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return None
        return data if isinstance(data, dict) and {"fingerprint", "started"} <= data.keys() else None

    def _write_meta(self) -> None:
        self._write(META, orjson.dumps(self._meta, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))

    def _write(self, name: str, data: bytes) -> None:
        with whole_file(self._folder / name) as stream:
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
