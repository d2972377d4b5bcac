"""Choose the scorer of support for ALCE, and refuse the one that the run was built with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from convqa.errors import InputError
from convqa.files import log, read_json
from convqa.tasks.scores import Supports

META = "run.meta.json"
"""The file beside a run in which the driver names the models that made it."""


def measuring(name: str, run_path: Path, allow_same: bool = False) -> Supports:
    """The scorer of that name (``convqa.models.load_support``), to measure the run at ``run_path`` (folder or file).

    A builder that keeps what a scorer likes is always good in its eyes. So the scorer may not be among the models of
    the run, as its run.meta.json names them. Without that file nobody knows, and a warning says so.

    :param allow_same: take it all the same.
    :raises InputError: if the run was built with it, or there is no such scorer.
    """
    from convqa.models import load_support

    support = load_support(name)
    if allow_same:
        return support
    file = (run_path if run_path.is_dir() else run_path.parent) / META
    try:
        found: Any = read_json(file, "what convqa writes beside a run") if file.exists() else {}
        models = [(node, *part) for node, parts in found["fingerprint"]["models"].items() for part in parts.items()]
    except AttributeError as error:
        wanted = "{node: {part: identity}}, as convqa writes it"
        raise InputError(f"{file}: fingerprint.models: wanted {wanted}.") from error
    except (KeyError, TypeError):
        log.warning("%s: does not say, so nobody knows whether %s built this run too", file, support.name)
        return support
    for node, part, identity in models:
        if _weights(str(identity)) == _weights(support.identity):
            raise InputError(
                f"--support {support.name}: this run was built with it ({node}: {part}, says {file}), and would be "
                "measured by its own yardstick. Give another scorer, or --allow-same."
            )
    return support


def _weights(identity: str) -> str:
    """The beginning of an identity, before what runs the model: ``checksum (torch float32 on cpu)``."""
    return identity.partition(" (")[0]
