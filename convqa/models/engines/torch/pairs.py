"""Scorers of pairs on torch: a model of transformers with a head that classifies."""

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
from convqa.models.kinds.pairs import PairScorer
from convqa.models.tokens import Tokenizer, Tokens
from convqa.models.types import Choice

torch = torch_runtime.import_torch()


class Classifier(torch.nn.Module):  # type: ignore[name-defined,misc]
    """A model that classifies sequences, with the inputs that it takes."""

    outputs = ("scores",)

    def __init__(self, classifier: Any) -> None:
        super().__init__()
        self.classifier = classifier
        self._typed = getattr(classifier.config, "type_vocab_size", 0) > 1
        self.inputs = ("input_ids", "attention_mask", "token_type_ids")[: 3 if self._typed else 2]
        # The exporter runs the wrapper in the wrapper's own mode; one that trains would have dropout in it.
        self.eval()

    def logits(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        """(n, tokens) each -> (n, classes) in float32."""
        typed = {"token_type_ids": token_type_ids} if self._typed else {}
        return self.classifier(input_ids=input_ids, attention_mask=attention_mask, **typed).logits.float()


class Scored(Classifier):
    """A classifier's answer as one number: its only one, or how much its second class exceeds its first."""

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
        """(n, tokens) each -> (n,) in float32."""
        logits = self.logits(input_ids, attention_mask, token_type_ids)
        return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]


def load(folder: ModelFolder, choice: Choice) -> PairScorer:
    """The scorer in a folder of transformers.

    :raises InputError: if it holds none, or one that cannot be run.
    """
    module, tokenizer = load_scored(folder, choice)
    pad = torch_runtime.padding(module.classifier.config)

    def scores(sequences: Sequence[Tokens]) -> NDArray[np.float32]:
        return torch_runtime.run_sorted(module, sequences, pad, choice)

    return PairScorer(folder, choice, tokenizer, scores)


def load_scored(folder: ModelFolder, choice: Choice) -> tuple[Scored, Tokenizer]:
    """The module and the tokenizer of a scorer.

    :raises InputError: as :func:`load` does.
    """
    config = torch_runtime.load_config(folder)
    heads = config.architectures or []
    if not any(head.endswith("ForSequenceClassification") for head in heads) or config.num_labels not in {1, 2}:
        raise InputError(
            f"{folder.path}: {', '.join(heads) or config.model_type} with {config.num_labels} labels scores no pairs; "
            "wanted a model for sequence classification with one label or two."
        )
    classifier = torch_runtime.load_module(
        folder, "AutoModelForSequenceClassification", choice.device, choice.precision
    )
    return Scored(classifier), tokenizer_of(folder, config, max_tokens(folder.path, config))
