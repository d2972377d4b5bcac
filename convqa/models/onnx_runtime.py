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
from convqa.models.folder import MANIFEST, ONNX, TOKENIZER
from convqa.models.once import threads, workers
from convqa.models.tokens import Tokenizer, Tokens

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
        self._folder = folder
        self.inputs = [value.name for value in self._session.get_inputs()]
        self.outputs = [value.name for value in self._session.get_outputs()]
        foreign = sorted(set(self.inputs) - {"input_ids", "attention_mask", "token_type_ids"})
        if foreign:
            raise InputError(f"{folder / ONNX}: its graph wants {', '.join(foreign)}: it is none that convqa made.")

    def run(self, items: Sequence[Inputs]) -> list[list[NDArray[Any]]]:
        """The outputs for each item, in order; an item maps the graph's inputs to arrays."""

        def one(item: Inputs) -> list[NDArray[Any]]:
            return list(self._session.run(None, dict(item)))

        if len(items) < 2 or threads() == 1:
            return [one(item) for item in items]
        return list(workers().map(one, items))

    def try_out(self, tokenizer: Tokenizer) -> list[NDArray[Any]]:
        """The outputs for the longest sequence, made of the tokenizer's last token.

        Only a run shows whether graph, manifest and tokenizer are of one model.

        :raises InputError: if they are not.
        """
        most, last = tokenizer.max_tokens, tokenizer.inner.get_vocab_size() - 1
        try:
            return self._one_token(last, most)
        except Exception as error:  # the library has no base class of its own
            try:
                self._one_token(0, most)
                where = f"{self._folder / TOKENIZER}: it has {last + 1} tokens"
            except Exception:  # the same
                where = f"{self._folder / MANIFEST}: max_tokens: found {most}"
            raise InputError(
                f"{where}; the graph in {ONNX} cannot run such a sequence ({reason_of(error)}). Copy or make the model "
                "again."
            ) from error

    def expect(self, tokenizer: Tokenizer, shape: tuple[int, ...]) -> None:
        """Refuse a graph whose first output for one sequence is of another shape, or that :meth:`try_out` refuses."""
        made = self.try_out(tokenizer)[0].shape
        if made != shape:
            raise InputError(
                f"{self._folder / ONNX}: its graph makes an array {made} of one sequence; the manifest wants {shape}. "
                "Copy or make the model again."
            )

    def run_tokens(self, sequences: Sequence[Tokens]) -> list[list[NDArray[Any]]]:
        """The outputs for each sequence of tokens, each output with a first axis of length 1."""
        return self.run([self._feed(sequence) for sequence in sequences])

    def _one_token(self, number: int, times: int) -> list[NDArray[Any]]:
        return self.run_tokens([Tokens([number] * times, [0] * times)])[0]

    def _feed(self, sequence: Tokens) -> Inputs:
        ids = np.array([sequence.ids], dtype=np.int64)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.array([sequence.types], dtype=np.int64),
        }
        return {name: given[name] for name in self.inputs}
