"""The model that a training starts from, and the folder of a head over it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from convqa.errors import InputError, reason_of
from convqa.models.engines.torch.transformers import load_writer
from convqa.models.folder import CARD, ModelFolder, licence_of, write_folder
from convqa.models.kinds.heads import HeadSettings
from convqa.models.source import find_model
from convqa.training.card import card, name_of
from convqa.training.config import Settings
from convqa.training.train import Scores, summary


def trainable(base: str) -> ModelFolder:
    """The folder of a model of transformers.

    :raises InputError: if there is none of that name, or if it is a graph, which cannot be trained.
    """
    folder = find_model(base)
    if folder.has_onnx:
        raise InputError(
            f"base: {base} is a model for ONNX Runtime, which cannot be trained; wanted one of transformers, a folder "
            "with config.json and weights, or a Hugging Face name."
        )
    return folder


def language_model(base: str, gguf: str | None, device: str) -> tuple[Any, Any]:
    """A causal or sequence-to-sequence model in float32, fresh in every call, and its tokenizer.

    :param base: a folder or a Hugging Face name. :param gguf: the file in the folder that holds model and tokenizer.
    :raises InputError: if there is none, or if it cannot be loaded.
    """
    if gguf is not None:
        return _from_gguf(Path(base).expanduser(), gguf, device)
    return load_writer(trainable(base), device, "float32")


def write_head(
    target: Path, kind: str, title: str, use: str, settings: Settings, made: HeadSettings, max_tokens: int,
    scores: Scores,
) -> None:  # fmt: skip
    """Write the folder of a head over the encoder ``settings.base``: what it learnt stands in its manifest."""
    base = find_model(settings.base)
    licence = base.manifest.licence if base.manifest else licence_of(base.path)
    about = {
        "kind": kind, "name": kind, "max_tokens": max_tokens, "licence": licence, "base": name_of(settings.base),
        "settings": made.model_dump(mode="json"),
    }  # fmt: skip
    write_folder(target, about, {CARD: card(title, settings, summary(scores), use, licence).encode()})


def _from_gguf(folder: Path, gguf: str, device: str) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if not (folder / gguf).is_file():
        raise InputError(f"{folder / gguf}: no such file; wanted a model in the format GGUF.")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=gguf, local_files_only=True)
        read = AutoModelForCausalLM.from_pretrained(folder, gguf_file=gguf, local_files_only=True, dtype=torch.float32)
    except ImportError as error:
        raise InputError(
            f"reading {gguf} needs more packages: pip install gguf accelerate ({error.name or error})."
        ) from error
    except Exception as error:  # whatever the libraries raise on damaged files
        raise InputError(f"{folder / gguf}: the model cannot be loaded ({reason_of(error)}).") from error
    # A model that came out of a GGUF refuses to be saved; one with the same weights and no past does not.
    if hasattr(read.config, "quantization_config"):
        del read.config.quantization_config
    model: Any = type(read)(read.config)
    model.load_state_dict(read.state_dict())
    model.generation_config = read.generation_config
    return model.to(device).eval(), tokenizer
