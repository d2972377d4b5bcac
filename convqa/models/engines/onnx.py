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
from convqa.models.sentence_files import Pooling, max_tokens
from convqa.models.types import OUTPUTS, UNIT_OUTPUTS, Array, Network, TokenSequence, load_tokenizer
from convqa.workers.stopping import stop_check


def load(folder: ModelFolder, kind: str) -> Network:
    """Load the network of a folder with a graph."""
    session = _session(folder.path / (folder.graph or ONNX))
    inputs = [value.name for value in session.get_inputs()]
    available = {value.name for value in session.get_outputs()}
    further = UNIT_OUTPUTS if available.issuperset(UNIT_OUTPUTS) else ()
    outputs = [_states(folder, inputs, available)] if folder.graph else [*OUTPUTS[kind], *further]
    pooling = folder.pooling if folder.graph else None

    def run_one(sequence: TokenSequence) -> list[Array]:
        ids = np.array([sequence.ids], dtype=np.int64)
        arrays = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([sequence.types], dtype=np.int64),
        }
        results = session.run(outputs, {name: arrays[name] for name in inputs})
        rows = [result[0].astype(np.float32, copy=False) for result in results]
        return rows if pooling is None else [_pooled(rows[0], pooling)]

    def run(sequences: Sequence[TokenSequence]) -> list[list[Array]]:
        check = stop_check()

        def run_unless_stopped(sequence: TokenSequence) -> list[Array]:
            check()
            return run_one(sequence)

        return list(workers().map(run_unless_stopped, sequences))

    manifest = folder.manifest
    if manifest is None:
        tokenizer = load_tokenizer(folder.path, max_tokens(folder.path))
        (example,) = run_one(tokenizer.texts(["a text"])[0])
        return Network(tokenizer, run, len(example))
    tokenizer = load_tokenizer(folder.path, manifest.max_tokens)
    return Network(
        tokenizer,
        run,
        manifest.dimension or 0,
        manifest.settings,
        further,
    )


def _states(folder: ModelFolder, inputs: Sequence[str], available: set[str]) -> str:
    """Return the output of a published graph that its vectors are made of.

    :raises InputError: if the graph is not that of an encoder.
    """
    states = next((name for name in ("sentence_embedding", "last_hidden_state") if name in available), None)
    unknown = set(inputs) - {"input_ids", "attention_mask", "token_type_ids"}
    if states is None or unknown:
        raise InputError(
            f"{folder.path / folder.graph}: expected the graph of an encoder, whose output is last_hidden_state or "
            f"sentence_embedding, got {', '.join(inputs)} -> {', '.join(sorted(available))}. A sparse model or a "
            "cross-encoder is no encoder."
        )
    return states


def _pooled(states: Array, pooling: Pooling) -> Array:
    """Return the vector of length 1 of one text's states, (tokens, dimension), or of its vector, (dimension,)."""
    vector = states
    if states.ndim > 1:
        vector = states[0] if pooling == "cls" else states.mean(axis=0)
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)


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
