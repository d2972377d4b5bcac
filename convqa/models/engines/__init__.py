"""Choose and load the engine that runs a model: ONNX Runtime or torch.

For options left at ``auto``: a folder with ``model.onnx`` runs on ONNX Runtime, on the CPU, in the precision it was
exported in; asked for another device or precision, it runs on torch. Any other folder runs on torch: on a GPU, if there
is one, in float32; else on the CPU, in bfloat16 where that is fast, otherwise in float32. No result depends on its
batch-mates beyond 1e-4. An explicit option is honored or refused, never replaced (docs/reference/models.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from convqa.errors import InputError
from convqa.models.folder import ModelFolder
from convqa.models.once import once
from convqa.models.shared import sharing
from convqa.models.types import Choice, Network, Options

T = TypeVar("T")


def load_once(
    kind: str,
    folder: ModelFolder,
    options: Options,
    make: Callable[[ModelFolder, Choice, Network], T],
) -> T:
    """Return ``make``'s result for the network in a folder, which must be of this kind, loaded once per process."""
    folder.require_kind(kind)
    choice = choose(folder, options)

    def load() -> T:
        network = sharing(_load_network(kind, folder, choice), f"{kind} {folder.checksum()} ({choice})")
        return make(folder, choice, network)

    return once((kind, folder.path, folder.checksum(), choice), load)


def _load_network(kind: str, folder: ModelFolder, choice: Choice) -> Network:
    if choice.engine == "onnx":
        from convqa.models.engines import onnx

        return onnx.load(folder, kind)
    from convqa.models.engines.torch import networks

    return networks.load(folder, choice, kind)


def choose(folder: ModelFolder, options: Options) -> Choice:
    """Return the engine, device and precision for a model.

    :raises InputError: if it cannot run as the options ask.
    """
    if folder.manifest is not None and folder.has_onnx:
        precision = folder.manifest.precision
        if options.device in {"auto", "cpu"} and options.precision in {"auto", precision}:
            return Choice("onnx", "cpu", precision)
    if options.precision == "int8":
        raise InputError(
            f"{folder.path}: precision int8 is for folders made int8, on the CPU; torch runs float32 and bfloat16. "
            "Make an int8 folder with convqa models export and convqa models quantize, or leave out the precision."
        )
    from convqa.models.engines.torch import runtime

    device = runtime.device(options.device)
    if options.precision != "auto":
        return Choice("torch", device, options.precision)
    # On a GPU, sequences share batches, which would show in bfloat16 results.
    return Choice(
        "torch",
        device,
        runtime.fast_precision(device) if device == "cpu" else "float32",
    )


def kind_of(folder: ModelFolder) -> str:
    """Return the kind of the model in a folder, from its manifest or from transformers' configuration."""
    if folder.manifest is not None:
        return folder.manifest.kind
    from convqa.models.engines.torch import networks

    return networks.kind_of(folder)
