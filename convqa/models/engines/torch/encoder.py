"""Encoders on torch: a model of transformers, pooled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.models.engines.torch import runtime as torch_runtime
from convqa.models.engines.torch.sentence_transformers import Pooling, Recipe, recipe
from convqa.models.engines.torch.tokenizer import tokenizer_of
from convqa.models.folder import ModelFolder
from convqa.models.kinds.encoder import TextEncoder
from convqa.models.tokens import Tokenizer, Tokens
from convqa.models.types import Choice

torch = torch_runtime.import_torch()


class Pooled(torch.nn.Module):  # type: ignore[name-defined,misc]
    """A trunk whose last states become one vector of length 1: their mean over the text's tokens, or the first."""

    inputs = ("input_ids", "attention_mask")
    """What the exported graph takes: a single text is of type 0, which the model assumes."""
    outputs = ("vectors",)

    def __init__(self, trunk: Any, pooling: Pooling) -> None:
        super().__init__()
        self.trunk = trunk
        self._pooling = pooling
        self._typed = getattr(trunk.config, "type_vocab_size", 0) > 1
        # The exporter runs the wrapper in the wrapper's own mode; one that trains would have dropout in it.
        self.eval()

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
        """(n, tokens) each -> (n, dimension) in float32."""
        typed = {} if token_type_ids is None or not self._typed else {"token_type_ids": token_type_ids}
        states = self.trunk(input_ids=input_ids, attention_mask=attention_mask, **typed).last_hidden_state.float()
        if self._pooling == "cls":
            pooled = states[:, 0]
        else:
            mask = attention_mask.unsqueeze(-1).to(states.dtype)
            pooled = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
        return torch.nn.functional.normalize(pooled, dim=1)


def load(folder: ModelFolder, choice: Choice) -> TextEncoder:
    """The encoder in a folder of transformers or sentence-transformers.

    :raises InputError: if it holds no encoder, or one that cannot be run.
    """
    module, tokenizer, made = load_pooled(folder, choice)
    pad = torch_runtime.padding(module.trunk.config)

    def vectors(sequences: Sequence[Tokens]) -> NDArray[np.float32]:
        return torch_runtime.run_sorted(module, sequences, pad, choice)

    return TextEncoder(folder, choice, module.trunk.config.hidden_size, made.prefixes, tokenizer, vectors)


def load_pooled(folder: ModelFolder, choice: Choice) -> tuple[Pooled, Tokenizer, Recipe]:
    """The module, tokenizer and recipe of an encoder.

    :raises InputError: as :func:`load` does.
    """
    config = torch_runtime.load_config(folder)
    heads = config.architectures or []
    if config.is_encoder_decoder or any(name.endswith(("CausalLM", "LMHeadModel")) for name in heads):
        raise InputError(f"{folder.path}: {', '.join(heads) or config.model_type} writes texts; wanted an encoder.")
    made = recipe(folder, config)
    trunk = torch_runtime.load_module(folder, "AutoModel", choice.device, choice.precision)
    return Pooled(trunk, made.pooling), tokenizer_of(folder, config, made.max_tokens), made
