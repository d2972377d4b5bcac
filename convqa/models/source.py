"""Find a model by name: shipped with convqa, installed, a folder, or in the local cache of Hugging Face.

Downloads need the user's permission: ``--allow-download`` or ``CONVQA_ALLOW_DOWNLOAD=1``.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl

from convqa.errors import InputError, nearest, reason_of
from convqa.models.folder import MANIFEST, ModelFolder, open_folder, read_manifest, write_folder
from convqa.places import data_folder

ALLOW_DOWNLOAD = "CONVQA_ALLOW_DOWNLOAD"
"""The environment variable that permits downloads: 1 or true."""

SHIPPED = Path(__file__).resolve().parent / "weights"

_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
_DOWNLOADED_FILES = ["*.json", "*.txt", "*.model", "*.jinja", "README.md", "*.safetensors"]
_IGNORED_FILES = ["onnx/*", "openvino/*", "*/pytorch_model*", "original/*"]


def installed(name: str) -> Path:
    """Return the folder of a model that :func:`install` installs."""
    return data_folder() / "models" / name


def local_models() -> dict[str, Path]:
    """Return the folders of the shipped and of the installed models by name."""
    manifests = [*installed("").glob(f"*/{MANIFEST}"), *sorted(SHIPPED.glob(f"*/{MANIFEST}"))]
    return {path.parent.name: path.parent for path in manifests}


def install(name: str, source: Path) -> Path:
    """Copy a model to the data folder, where ``name`` finds it, and return its folder.

    :param source: a folder made by ``convqa models export``.
    :raises InputError: for the name of a shipped model, and if there is no such folder, or a damaged one.
    """
    if (SHIPPED / name).exists() or not name.isidentifier():
        raise InputError(f"{name!r}: expected a name of letters, digits and _ that no shipped model has.")
    open_folder(name, source)
    manifest = read_manifest(source)
    target = installed(name)
    if source.resolve() != target.resolve():
        shutil.rmtree(target, ignore_errors=True)
        files = {file: source / file for file in manifest.files}
        write_folder(target, manifest.model_dump(exclude={"format", "files"}), files)
    return target


def find_model(name: str) -> ModelFolder:
    """Return the folder of a model.

    :param name: a shipped or an installed model; a folder that exists, or a path that begins with ``.``, ``/`` or
        ``~``; or else a Hugging Face name ``owner/name``. An encoder's prompts may follow:
        ``NAME?query=query: &passage=passage: ``.
    :raises InputError: if the model is unknown or damaged.
    """
    base, _, query = name.partition("?")
    if query:
        return replace(find_model(base), name=name, asked=_encoder_options(name, query))
    local = local_models()
    if name in local:
        return open_folder(name, local[name])
    path = Path(name).expanduser()
    if name.startswith((".", "/", "~")) or (name and path.is_dir()):
        return open_folder(name, path.resolve())
    if _HUB_NAME.fullmatch(name):
        return open_folder(name, _from_hub(name))
    raise InputError(
        f"unknown model {name!r}.{nearest(name, local)} Expected a model of convqa models list ({', '.join(local)}), a "
        "folder (./FOLDER) or a Hugging Face model (OWNER/NAME). convqa models get NAME FOLDER installs another one, "
        "such as multilingual (docs/reference/languages.md)."
    )


def _encoder_options(name: str, query: str) -> dict[str, str]:
    """Return the options after the ? of an encoder's name.

    :raises InputError: for an unknown option.
    """
    options = dict(parse_qsl(query, keep_blank_values=True))
    if options.keys() - {"query", "passage", "pooling"} or options.get("pooling", "mean") not in {"mean", "cls"}:
        raise InputError(
            f"encoder {name!r}: expected NAME?query=TEXT&passage=TEXT (what is put before such texts), and "
            "pooling=mean or pooling=cls."
        )
    return options


def _from_hub(name: str) -> Path:
    """Return the folder of a Hugging Face model in the local cache, after downloading it if permitted."""
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(name, "config.json")
    if isinstance(config, str) and _has_weights(Path(config).parent):
        return Path(config).parent
    allowed = os.environ.get(ALLOW_DOWNLOAD, "").strip().lower()
    if allowed in {"1", "true", "yes"}:
        return _download(name)
    raise InputError(
        f"the model {name} is not on this machine. Download it with: hf download {name}; or permit the download with "
        f"--allow-download or {ALLOW_DOWNLOAD}=1; or name its folder."
    )


def _download(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        # Older models only have weights in torch's own format.
        for files in (_DOWNLOADED_FILES, [*_DOWNLOADED_FILES, "*.bin"]):
            folder = Path(snapshot_download(name, allow_patterns=files, ignore_patterns=_IGNORED_FILES))
            if _has_weights(folder):
                break
    except Exception as error:  # errors of the hub and of the network libraries below it
        raise InputError(
            f"the model {name} cannot be downloaded: {reason_of(error)}. Check the name and the network (a gated model "
            "needs HF_TOKEN), or name its folder."
        ) from error
    return folder


def _has_weights(folder: Path) -> bool:
    return any(file.name.endswith((".safetensors", ".bin", ".onnx")) for file in folder.iterdir())
