"""Set up torch: threads that sleep while they wait, the device, the precision and batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from convqa.errors import InputError
from convqa.models.once import once
from convqa.models.tokens import Tokens
from convqa.models.types import Array, Choice
from convqa.workers.threads import threads

BUDGET = {"cpu": 2048, "cuda": 65536, "mps": 16384}
"""Tokens of a batch, padding counted, by device."""

Forward = Callable[[Any, Any, Any], Any]
"""Tensors of ids, mask and types, each (n, tokens) -> one tensor or several, with one row for each sequence."""


def import_torch() -> Any:
    """torch, with threads that sleep while they wait for each other.

    GNU OpenMP's threads spin by default: beside a busy neighbour all of them wait, spinning, for the one that has no
    core. The variables are read when the library is loaded; whoever sets them or loads torch before decides.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    try:
        import torch
        import transformers
    except ImportError as error:
        raise InputError(
            f"{error.name} is not installed, which models without model.onnx need, and GPUs. Install the extra models: "
            "pip install 'convqa[models]'"
        ) from None

    def prepare() -> None:
        torch.set_num_threads(threads())
        quiet: Any = transformers.utils.logging
        quiet.set_verbosity_error()
        quiet.disable_progress_bar()

    once("torch", prepare)
    return torch


def device(wanted: Literal["auto", "cpu", "cuda", "mps"]) -> Literal["cpu", "cuda", "mps"]:
    """The device to run on: for ``auto`` a GPU where torch sees one, else the CPU."""
    torch = import_torch()
    there: dict[Literal["cuda", "mps", "cpu"], bool] = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if wanted == "auto":
        return next(name for name, found in there.items() if found)
    if not there[wanted]:
        found = ", ".join(name for name, seen in there.items() if seen)
        raise InputError(
            f"device {wanted}: torch {torch.__version__} sees none here; there is {found}. Leave the "
            "device out, or install torch for the GPU of this machine (https://pytorch.org/get-started)."
        )
    return wanted


def fast_precision(device: Literal["cpu", "cuda", "mps"]) -> Literal["float32", "bfloat16"]:
    """bfloat16 where the device multiplies in it natively (NVIDIA from Ampere on, CPUs with AMX), else float32."""
    torch = import_torch()
    if device == "cuda":
        return "bfloat16" if torch.cuda.get_device_capability()[0] >= 8 else "float32"
    has_amx = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return "bfloat16" if device == "cpu" and has_amx is not None and has_amx() else "float32"


def padding(config: Any) -> int:
    """The token that fills a batch up; any will do where the model names none, for the mask hides it."""
    return getattr(config, "pad_token_id", None) or 0


def rows(forward: Forward, sequences: Sequence[Tokens], pad: int, choice: Choice) -> list[list[Array]]:
    """The outputs for each sequence, in order; like lengths run together, under a budget of tokens.

    An output that has an axis of tokens is as long there as the longest sequence of its batch.

    bfloat16 keeps 8 bits of a number, so that what a sequence is batched with shows in the third decimal. On a CPU
    such sequences run alone; on a GPU, where that would be slow, bfloat16 is only for whoever asks for it.
    """
    torch = import_torch()
    alone = choice.device == "cpu" and choice.precision == "bfloat16"
    budget = 0 if alone else BUDGET[choice.device] // getattr(forward, "batch_share", 1)
    made: dict[int, list[Array]] = {}
    with torch.inference_mode():
        for places in batches([len(sequence) for sequence in sequences], budget):
            outputs = forward(*_padded([sequences[place] for place in places], pad, choice.device))
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            arrays = [output.float().cpu().numpy() for output in outputs]
            made.update((place, [array[row] for array in arrays]) for row, place in enumerate(places))
    return [made[place] for place in range(len(sequences))]


def batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Places of sequences, shortest first, cut so that no batch holds more than ``budget`` tokens with its padding.

    A sequence that is longer than the budget has a batch of its own.

    >>> batches([5, 1, 2, 9], 6)
    [[1, 2], [0], [3]]
    """
    made: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lambda place: (lengths[place], place)):
        if not made or (len(made[-1]) + 1) * lengths[place] > budget:
            made.append([])
        made[-1].append(place)
    return made


def _padded(sequences: Sequence[Tokens], pad: int, device: str) -> tuple[Any, ...]:
    torch = import_torch()
    shape = (len(sequences), max(len(sequence) for sequence in sequences))
    ids, mask, types = np.full(shape, pad), np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence.ids
        mask[row, : len(sequence)] = 1
        types[row, : len(sequence)] = sequence.types
    return tuple(torch.from_numpy(array).to(device) for array in (ids, mask, types))
