"""Set up torch: its threads, the device, the precision and batches."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

from convqa.errors import InputError
from convqa.models.once import once
from convqa.models.types import Array, Choice, Device, TokenSequence, TorchDevice
from convqa.workers.threads import threads

MAX_BATCH_TOKENS = {"cpu": 2048, "cuda": 65536, "mps": 16384}
"""Device -> maximum tokens of a batch, including padding."""

Forward = Callable[[Any, Any, Any], Any]
"""Tensors of ids, mask and types, each (n, tokens) -> one tensor or several, with one row per sequence."""


def import_torch() -> Any:
    """Import torch, with threads that sleep while they wait for each other.

    GNU OpenMP's threads spin by default, which wastes cores on a busy machine. The variables are read when the library
    is loaded, so they have no effect if torch is already imported.

    :raises InputError: if the extra ``models`` is not installed.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    missing = [name for name in ("torch", "transformers", "onnx") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"{', '.join(missing)} is not installed; GPUs, training and models without model.onnx need it. Install "
            "the extra models: pip install 'convqa[models]'"
        )
    import torch
    import transformers

    def prepare() -> None:
        torch.set_num_threads(threads())
        quiet: Any = transformers.utils.logging
        quiet.set_verbosity_error()
        quiet.disable_progress_bar()

    once("torch", prepare)
    return torch


def device(requested: Device) -> TorchDevice:
    """Return the device to run on: for ``auto`` a GPU if torch sees one, else the CPU."""
    torch = import_torch()
    available: list[TorchDevice] = []
    if torch.cuda.is_available():
        available.append("cuda")
    if torch.backends.mps.is_available():
        available.append("mps")
    available.append("cpu")
    if requested == "auto":
        return available[0]
    if requested not in available:
        raise InputError(
            f"device {requested}: torch {torch.__version__} sees only {', '.join(available)} on this machine. Leave "
            "out the device, or install torch for this machine's GPU (https://pytorch.org/get-started)."
        )
    return requested


def fast_precision(device: TorchDevice) -> Literal["float32", "bfloat16"]:
    """Return bfloat16 if the device multiplies it natively (NVIDIA since Ampere, CPUs with AMX), else float32."""
    torch = import_torch()
    if device == "cuda":
        return "bfloat16" if torch.cuda.get_device_capability()[0] >= 8 else "float32"
    has_amx = getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    return "bfloat16" if device == "cpu" and has_amx() else "float32"


def rows(
    forward: Forward,
    sequences: Sequence[TokenSequence],
    pad: int,
    choice: Choice,
) -> list[list[Array]]:
    """Return the outputs for each sequence, in order. Sequences of similar length share batches.

    The token axis of an output is as long as the longest sequence of its batch.

    bfloat16 keeps 8 bits, so that batch-mates would show in the third decimal. On a CPU such sequences run alone; on a
    GPU, where that would be slow, bfloat16 has to be asked for.
    """
    torch = import_torch()
    alone = choice.device == "cpu" and choice.precision == "bfloat16"
    budget = 0 if alone else MAX_BATCH_TOKENS[choice.device]
    results: list[list[Array]] = [[] for _ in sequences]
    with torch.inference_mode():
        for batch in batches([len(sequence) for sequence in sequences], budget):
            ids = [sequences[index].ids for index in batch]
            types = [sequences[index].types for index in batch]
            outputs = forward(
                padded(ids, pad, choice.device),
                mask_of(ids, choice.device),
                padded(types, 0, choice.device),
            )
            for output in outputs if isinstance(outputs, tuple) else (outputs,):
                array = output.float().cpu().numpy()
                for row, index in zip(array, batch, strict=True):
                    results[index].append(row)
    return results


def batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Group the indexes of sequences, shortest first, into batches of at most ``budget`` tokens including padding.

    A sequence longer than the budget has a batch of its own.

    >>> batches([5, 1, 2, 9], 6)
    [[1, 2], [0], [3]]
    """
    groups: list[list[int]] = []
    shortest_first = sorted(range(len(lengths)), key=lambda index: (lengths[index], index))
    for index in shortest_first:
        if not groups or (len(groups[-1]) + 1) * lengths[index] > budget:
            groups.append([])
        groups[-1].append(index)
    return groups


def padded(rows: Sequence[Sequence[int]], fill: int, device: str) -> Any:
    """Return a tensor (n, longest) with each row padded with ``fill``."""
    torch = import_torch()
    tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=fill).to(device)


def mask_of(rows: Sequence[Sequence[object]], device: str) -> Any:
    """Return a tensor (n, longest) with 1 for the items of a row and 0 for its padding."""
    return padded([[1] * len(row) for row in rows], 0, device)
