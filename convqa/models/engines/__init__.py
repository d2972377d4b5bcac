"""Choose and load the engine that runs a model: ONNX Runtime or torch.

The rule that decides what :class:`Options` leave open (docs/reference/models.md): a folder that holds ``model.onnx``
runs on ONNX Runtime, on the CPU, in the precision that it was made in; asked for another device or precision, it runs
on torch. Any other folder runs on torch, on a GPU where there is one: on a GPU in float32, on a CPU in bfloat16 where
it is fast at it, else in float32. Either way no result depends on its batch-mates beyond 1e-4. Whatever the options
name is done or refused, never replaced by something else.
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
    if options.engine == "onnx" or (options.engine == "auto" and _runs_on_onnx(folder, options)):
        return _onnx(folder, options)
    return _torch(folder, options)


def _runs_on_onnx(folder: ModelFolder, options: Options) -> bool:
    if folder.manifest is None or not folder.has_onnx:
        return False
    return options.device in {"auto", "cpu"} and options.precision in {"auto", folder.manifest.precision}


def _onnx(folder: ModelFolder, options: Options) -> Choice:
    if folder.manifest is None or not folder.has_onnx:
        raise InputError(
            f"{folder.path} holds no {ONNX}, which the engine onnx runs. "
            f"Make a folder that does with: convqa models export {folder.path} TARGET"
        )
    if not _runs_on_onnx(folder, options):
        raise InputError(
            f"{folder.path}: the engine onnx runs it on the CPU in {folder.manifest.precision}; device "
            f"{options.device} and precision {options.precision} were asked for. Leave out the engine, so that torch "
            "runs it."
        )
    return Choice("onnx", "cpu", folder.manifest.precision)


def _torch(folder: ModelFolder, options: Options) -> Choice:
    if options.precision == "int8":
        raise InputError(
            f"{folder.path}: precision int8 was asked for, which is for folders made int8, on the CPU; torch runs "
            "float32 and bfloat16. Make an int8 folder with convqa models export and convqa models quantize, and name "
            "that; or leave the precision out."
        )
    from convqa.models.engines.torch import runtime

    device = runtime.device(options.device)
    if options.precision == "auto":
        # On a GPU sequences share batches, which in bfloat16 would show in the results.
        return Choice("torch", device, runtime.fast_precision(device) if device == "cpu" else "float32")
    return Choice("torch", device, options.precision)
