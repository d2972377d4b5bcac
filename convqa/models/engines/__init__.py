"""Choose and load the engine that runs a model: ONNX Runtime or torch.

The rule that decides what :class:`Options` leave open (docs/models.md): a folder that holds ``model.onnx`` runs on ONNX
Runtime, on the CPU, in the precision that it was made in; any other runs on torch, on a GPU where there is one: on a
GPU in float32, on a CPU in bfloat16 where it is fast at it, else in float32. Either way no result depends on its
batch-mates beyond 1e-4. Whatever the options name is done or refused, never replaced by something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TypeVar

from convqa.errors import InputError
from convqa.models.folder import ONNX, ModelFolder
from convqa.models.once import once
from convqa.models.shared import sharing
from convqa.models.types import Choice, Network, Options

ENGINES: Mapping[str, str] = {"onnx": "convqa.models.engines.onnx", "torch": "convqa.models.engines.torch.networks"}
"""Engine -> the module whose ``load(folder, choice, kind)`` gives the network of a model of that kind."""

T = TypeVar("T")


def load_once(kind: str, folder: ModelFolder, options: Options, make: Callable[[ModelFolder, Choice, Network], T]) -> T:
    """The result of ``make`` for the network in a folder, loaded once per process."""
    choice = choose(folder, options)
    key = (kind, folder.path, folder.checksum(), choice)

    def load() -> T:
        network = import_module(ENGINES[choice.engine]).load(folder, choice, kind)
        return make(folder, choice, sharing(network, f"{kind} {folder.checksum()} ({choice})"))

    return once(key, load)


def choose(folder: ModelFolder, options: Options) -> Choice:
    """Engine, device and precision for a model."""
    if options.engine == "onnx" or (options.engine == "auto" and folder.has_onnx):
        return _onnx(folder, options)
    return _torch(folder, options)


def _onnx(folder: ModelFolder, options: Options) -> Choice:
    if folder.manifest is None or not folder.has_onnx:
        raise InputError(
            f"{folder.path} holds no {ONNX}, which the engine onnx runs. "
            f"Make a folder that does with: convqa models export {folder.path} TARGET"
        )
    if options.device not in {"auto", "cpu"}:
        raise InputError(
            f"{folder.path} holds {ONNX}, which runs on the CPU; device {options.device} was asked for. "
            "Name the model's torch folder or its Hugging Face name instead."
        )
    precision = folder.manifest.precision
    if options.precision not in {"auto", precision}:
        raise InputError(
            f"{folder.path} was made in {precision}; precision {options.precision} was asked for. "
            "Leave the precision out, or make such a folder with convqa models export or quantize."
        )
    return Choice("onnx", "cpu", precision)


def _torch(folder: ModelFolder, options: Options) -> Choice:
    if folder.has_onnx:
        raise InputError(f"{folder.path} holds {ONNX} only, which the engine torch cannot run; use the engine onnx.")
    if options.precision == "int8":
        raise InputError(
            "the engine torch runs float32 and bfloat16; precision int8 was asked for. Make an int8 folder with "
            "convqa models export and convqa models quantize, and name that."
        )
    from convqa.models.engines.torch import runtime

    device = runtime.device(options.device)
    if options.precision == "auto":
        # On a GPU sequences share batches, which in bfloat16 would show in the results.
        return Choice("torch", device, runtime.fast_precision(device) if device == "cpu" else "float32")
    return Choice("torch", device, options.precision)
