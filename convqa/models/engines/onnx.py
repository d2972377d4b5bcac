"""Models on ONNX Runtime: one sequence at a time, several sequences in parallel.

Each sequence runs alone and on one thread. So there is no padding, no result depends on batch-mates or on the number of
threads, and a busy machine slows a model down without stalling it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from convqa.errors import InputError, reason_of
from convqa.models.folder import ONNX, ModelFolder
from convqa.models.once import workers
from convqa.models.types import OUTPUTS, UNIT_OUTPUTS, Array, Network, TokenSequence, load_tokenizer
from convqa.workers.stopping import stop_check


def load(folder: ModelFolder, kind: str) -> Network:
    """Load the network of a folder with ``model.onnx``."""
    manifest = folder.manifest
    assert manifest is not None
    session = _session(folder.path / ONNX)
    inputs = [value.name for value in session.get_inputs()]
    available = {value.name for value in session.get_outputs()}
    further = UNIT_OUTPUTS if available.issuperset(UNIT_OUTPUTS) else ()
    outputs = [*OUTPUTS[kind], *further]

    def run_one(sequence: TokenSequence) -> list[Array]:
        ids = np.array([sequence.ids], dtype=np.int64)
        arrays = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([sequence.types], dtype=np.int64),
        }
        results = session.run(outputs, {name: arrays[name] for name in inputs})
        return [result[0].astype(np.float32, copy=False) for result in results]

    def run(sequences: Sequence[TokenSequence]) -> list[list[Array]]:
        check = stop_check()

        def run_unless_stopped(sequence: TokenSequence) -> list[Array]:
            check()
            return run_one(sequence)

        return list(workers().map(run_unless_stopped, sequences))

    tokenizer = load_tokenizer(folder.path, manifest.max_tokens)
    return Network(
        tokenizer,
        run,
        manifest.dimension or 0,
        manifest.settings,
        further,
    )


def _session(file: Path) -> Any:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised, not printed
    try:
        return ort.InferenceSession(
            str(file),
            options,
            providers=["CPUExecutionProvider"],
        )
    except Exception as error:  # the library has no base class for its errors
        raise InputError(f"{file}: cannot be run ({reason_of(error)}). Copy or make the model again.") from error
