"""How a model is to be run, and the rule that decides what was left open.

The rule (docs/models.md): a folder that holds ``model.onnx`` runs on ONNX Runtime, on the CPU, in the precision that
it was made in; any other runs on torch, on a GPU where there is one: on a GPU in float32, on a CPU in bfloat16 where
it is fast at it, else in float32. Either way no result depends on its batch-mates beyond 1e-4. Whatever is named in
:class:`Options` is done or refused, never replaced by something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from convqa.errors import InputError
from convqa.models.folder import ONNX, ModelFolder

Device = Literal["auto", "cpu", "cuda", "mps"]
Precision = Literal["auto", "float32", "bfloat16", "int8"]
Engine = Literal["auto", "onnx", "torch"]


@dataclass(frozen=True, slots=True)
class Options:
    """What is wanted of the way a model runs; ``auto`` leaves it to the rule."""

    device: Device = "auto"
    precision: Precision = "auto"
    engine: Engine = "auto"


@dataclass(frozen=True, slots=True)
class Choice:
    """What was decided: no field is ``auto``."""

    engine: Literal["onnx", "torch"]
    device: Literal["cpu", "cuda", "mps"]
    precision: Literal["float32", "bfloat16", "int8"]

    def __str__(self) -> str:
        return f"{self.engine} {self.precision} on {self.device}"


class Identified:
    """A model that is loaded: ``checksum`` names what shapes its results, ``runs`` says how it runs."""

    checksum: str
    runs: Choice | str

    @property
    def identity(self) -> str:
        """What of this model a run's fingerprint holds: two that have the same give the same results."""
        return f"{self.checksum} ({self.runs})"


def choose(folder: ModelFolder, options: Options) -> Choice:
    """Engine, device and precision for a model.

    :raises InputError: if what the options name cannot be done with this model on this machine.
    """
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
    from convqa.models.engines.torch import runtime as torch_runtime

    device = torch_runtime.device(options.device)
    if options.precision == "auto":
        # On a GPU sequences share batches, which in bfloat16 would show in the results.
        return Choice("torch", device, torch_runtime.fast_precision(device) if device == "cpu" else "float32")
    return Choice("torch", device, options.precision)
