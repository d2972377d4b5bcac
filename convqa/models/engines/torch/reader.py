"""Readers on torch: a model of transformers with a head for extractive question answering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.models.engines.torch import runtime as torch_runtime
from convqa.models.engines.torch.sentence_transformers import max_tokens
from convqa.models.engines.torch.tokenizer import tokenizer_of
from convqa.models.folder import ModelFolder
from convqa.models.kinds.reader import HEADS, OUTPUTS, Calibration, SpanReader
from convqa.models.kinds.reader_input import MOST_TOKENS
from convqa.models.tokens import Tokenizer, Tokens
from convqa.models.types import Choice

torch = torch_runtime.import_torch()

_ALWAYS_TWO = {"bart", "mbart", "led", "plbart", "mvp"}


class Spanned(torch.nn.Module):  # type: ignore[name-defined,misc]
    """A model's logits of starts and of ends."""

    outputs = tuple(OUTPUTS)

    def __init__(self, answering: Any) -> None:
        super().__init__()
        self.answering = answering
        self._typed = getattr(answering.config, "type_vocab_size", 0) > 1
        self.inputs = ("input_ids", "attention_mask", "token_type_ids")[: 3 if self._typed else 2]
        # The exporter runs the wrapper in the wrapper's own mode; one that trains would have dropout in it.
        self.eval()

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> tuple[Any, Any]:
        """(n, tokens) each -> starts and ends, each (n, tokens) in float32."""
        typed = {"token_type_ids": token_type_ids} if self._typed else {}
        made = self.answering(input_ids=input_ids, attention_mask=attention_mask, **typed)
        return made.start_logits.float(), made.end_logits.float()


def load(folder: ModelFolder, choice: Choice) -> SpanReader:
    """The reader in a folder of transformers; nothing there says how sure it is, so its calibration is the plain one.

    :raises InputError: if it holds none, or one that cannot be run.
    """
    module, tokenizer = load_spanned(folder, choice)
    pad = torch_runtime.padding(module.answering.config)

    def stacked(*batch: Any) -> Any:
        return torch.stack(module(*batch), dim=1)

    def logits(sequences: Sequence[Tokens]) -> list[NDArray[np.float32]]:
        made = torch_runtime.rows(stacked, sequences, pad, choice)
        return [row[:, : len(sequence)] for row, sequence in zip(made, sequences, strict=True)]

    return SpanReader(folder, choice, tokenizer, Calibration(), logits)


def load_spanned(folder: ModelFolder, choice: Choice) -> tuple[Spanned, Tokenizer]:
    """The module and the tokenizer of a reader.

    :raises InputError: as :func:`load` does.
    """
    config = torch_runtime.load_config(folder)
    heads = config.architectures or []
    # Heads of BART's family have two outputs, whatever their configuration says.
    labels = 2 if config.model_type in _ALWAYS_TWO else config.num_labels
    if not any(head.endswith(HEADS) for head in heads) or labels != 2:
        raise InputError(
            f"{folder.path}: {', '.join(heads) or config.model_type} with {labels} labels finds no spans; "
            "wanted a model for extractive question answering, whose two are start and end."
        )
    answering = torch_runtime.load_module(folder, "AutoModelForQuestionAnswering", choice.device, choice.precision)
    return Spanned(answering), tokenizer_of(folder, config, min(max_tokens(folder.path, config), MOST_TOKENS))
