"""Models on ONNX Runtime: one sequence at a time, several sequences at once.

A sequence runs alone and on one thread: nothing is padded, no result depends on its batch-mates or on the number of
threads, and no thread waits for another, so that a busy neighbour slows a model down but does not stall it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError, reason_of
from convqa.models.folder import ONNX
from convqa.models.once import threads, workers
from convqa.models.tokens import Tokens

Inputs = Mapping[str, NDArray[Any]]


class OnnxModel:
    """The graph in a folder's ``model.onnx``. Safe to call from several threads.

    :raises InputError: if the file is no graph that ONNX Runtime can run.
    """

    def __init__(self, folder: Path) -> None:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors are raised, not printed
        try:
            self._session = ort.InferenceSession(str(folder / ONNX), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the library has no base class of its own
            raise InputError(
                f"{folder / ONNX}: cannot be run ({reason_of(error)}). Copy or make the model again."
            ) from error
        self.inputs = [value.name for value in self._session.get_inputs()]
        self.outputs = [value.name for value in self._session.get_outputs()]

    def run(self, items: Sequence[Inputs]) -> list[list[NDArray[Any]]]:
        """The outputs for each item, in order; an item maps the graph's inputs to arrays."""

        def one(item: Inputs) -> list[NDArray[Any]]:
            return list(self._session.run(None, dict(item)))

        if len(items) < 2 or threads() == 1:
            return [one(item) for item in items]
        return list(workers().map(one, items))

    def run_tokens(self, sequences: Sequence[Tokens]) -> list[list[NDArray[Any]]]:
        """The outputs for each sequence of tokens, each output with a first axis of length 1."""
        return self.run([self._feed(sequence) for sequence in sequences])

    def _feed(self, sequence: Tokens) -> Inputs:
        ids = np.array([sequence.ids], dtype=np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([sequence.types], dtype=np.int64),
        }
        return {name: given[name] for name in self.inputs}
