"""Choose and load the engine that runs a model: ONNX Runtime or torch.

A folder with ``model.onnx`` runs on ONNX Runtime, on the CPU, in the precision it was exported in. Any other folder
runs on torch, as the options ask; where they are ``auto``, on a GPU, if there is one, in float32; else on the CPU, in
bfloat16 where that is fast, otherwise in float32. No result depends on its batch-mates beyond 1e-4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from convqa.models.folder import ModelFolder
from convqa.models.once import once
from convqa.models.shared import sharing
from convqa.models.source import find_model
from convqa.models.types import Choice, Network, Options

T = TypeVar("T")


def load_once(
    kind: str,
    name: str,
    options: Options,
    make: Callable[[ModelFolder, Choice, Network], T],
) -> T:
    """Return ``make``'s result for the network of a model, which must be of this kind, loaded once per process."""
    folder = find_model(name)
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
    if folder.has_onnx:
        return Choice("onnx", "cpu", folder.manifest.precision if folder.manifest else "float32")
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
