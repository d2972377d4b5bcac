"""Where a model is, by its name: shipped with convqa, a folder, or in the local cache of Hugging Face.

Nothing is downloaded unless the user says so: ``--allow-download``, or ``CONVQA_ALLOW_DOWNLOAD=1``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from convqa.errors import InputError, nearest, reason_of
from convqa.models.folder import ModelFolder, open_folder

ALLOW = "CONVQA_ALLOW_DOWNLOAD"
"""The environment variable that permits downloads: 1 or true."""

SHIPPED = Path(__file__).resolve().parent / "weights"

_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_FETCHED = ["*.json", "*.txt", "*.model", "*.jinja", "README.md", "*.safetensors"]
_LEFT = ["onnx/*", "openvino/*", "*/pytorch_model*", "original/*"]


def shipped_names() -> list[str]:
    """The names of the models that ship with convqa, sorted."""
    return sorted(path.parent.name for path in SHIPPED.glob("*/convqa.json"))


def find_model(name: str) -> ModelFolder:
    """The folder of a model: a shipped one, a folder (one that exists, or a name beginning with ``.``, ``/``, ``~``),
    or else a Hugging Face name ``owner/name``.

    :raises InputError: if there is none of that name, or if it is damaged.
    """
    if name in shipped_names():
        return open_folder(name, SHIPPED / name)
    path = Path(name).expanduser()
    if name.startswith((".", "/", "~")) or (name and path.is_dir()):
        return open_folder(name, path.resolve())
    if _HUB_NAME.fullmatch(name):
        return open_folder(name, _from_hub(name))
    raise InputError(
        f"no model is called {name!r}.{nearest(name, shipped_names())} Shipped are: {', '.join(shipped_names())}; "
        "or name a folder (./FOLDER) or a Hugging Face model (OWNER/NAME)."
    )


def downloads_allowed() -> bool:
    """Whether the user permits downloads."""
    return os.environ.get(ALLOW, "").strip().lower() in {"1", "true", "yes"}


def _from_hub(name: str) -> Path:
    """The folder of a Hugging Face model in the local cache, fetched into it where that is permitted."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "config.json")
    if isinstance(found, str) and _has_weights(Path(found).parent):
        return Path(found).parent
    if downloads_allowed():
        return _download(name)
    raise InputError(
        f"the model {name} is not on this machine, and convqa downloads nothing unasked. Fetch it beforehand with: "
        f"hf download {name}; or permit the download with --allow-download or {ALLOW}=1; or name a folder that "
        "holds it."
    )


def _download(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, allow_patterns=_FETCHED, ignore_patterns=_LEFT))
        if not _has_weights(folder):
            # Older models have their weights in torch's own format only.
            folder = Path(snapshot_download(name, allow_patterns=[*_FETCHED, "*.bin"], ignore_patterns=_LEFT))
    except Exception as error:  # the hub's errors, and those of the network libraries beneath it
        raise InputError(
            f"the model {name} cannot be downloaded: {reason_of(error)}. Check the name and the network (a "
            "model that asks for a login needs HF_TOKEN), or name a folder that holds it."
        ) from error
    return folder


def _has_weights(folder: Path) -> bool:
    return any(file.name.endswith((".safetensors", ".bin", ".onnx")) for file in folder.iterdir())
