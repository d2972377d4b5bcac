"""Load the support scorer for ALCE, and refuse the one that the run was built with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from convqa.errors import InputError
from convqa.files import log, read_json
from convqa.tasks.scores import SupportScorer

META = "run.meta.json"
"""The driver's file in the folder of a run that names its models."""


def independent_scorer(name: str, run_path: Path, allow_same: bool = False) -> SupportScorer:
    """Load a scorer (``convqa.models.load_support``) that the run at ``run_path`` (folder or file) was not built with.

    A run that was filtered by a scorer always scores well with it, so the scorer must not be among the models in
    run.meta.json. Without that file, a warning is logged.

    :param allow_same: accept the scorer in any case.
    :raises InputError: if the run was built with the scorer, or the name is unknown.
    """
    from convqa.models import load_support

    support = load_support(name)
    if allow_same:
        return support
    file = (run_path if run_path.is_dir() else run_path.parent) / META
    try:
        meta: Any = read_json(file, "the meta file of a run") if file.exists() else {}
        models = [(node, *part) for node, parts in meta["fingerprint"]["models"].items() for part in parts.items()]
    except AttributeError as error:
        raise InputError(f"{file}: fingerprint.models: expected {{node: {{part: identity}}}}.") from error
    except (KeyError, TypeError):
        log.warning("%s: names no models, so %s may have built this run too", file, support.name)
        return support
    for node, part, identity in models:
        if _weights(str(identity)) == _weights(support.identity):
            raise InputError(
                f"--support {support.name}: this run was built with it ({node}: {part}, in {file}), which biases the "
                "scores. Give another scorer, or --allow-same."
            )
    return support


def _weights(identity: str) -> str:
    """Return the checksum in an identity such as ``checksum (torch float32 on cpu)``."""
    return identity.partition(" (")[0]
