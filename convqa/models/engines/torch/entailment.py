"""Models of entailment (NLI) as support checks, on torch: the evidence is the premise, the sentence the hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.models.engines.torch import runtime as torch_runtime
from convqa.models.engines.torch.pairs import Classifier
from convqa.models.engines.torch.sentence_transformers import max_tokens
from convqa.models.engines.torch.tokenizer import tokenizer_of
from convqa.models.folder import ModelFolder
from convqa.models.kinds.support import Scores
from convqa.models.kinds.support_features import Pair
from convqa.models.tokens import Tokenizer
from convqa.models.types import Choice
from convqa.text.sentences import sentences

torch = torch_runtime.import_torch()


class Entailing(Classifier):
    """A classifier's probability of one class: that the first text entails the second."""

    def __init__(self, classifier: Any, label: int) -> None:
        super().__init__(classifier)
        self._label = label

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
        """(n, tokens) each -> (n,) in float32."""
        return torch.softmax(self.logits(input_ids, attention_mask, token_type_ids), -1)[:, self._label]


def load(folder: ModelFolder, choice: Choice) -> Scores:
    """The scores of the model in a folder of transformers.

    Evidence that does not fit beside a sentence is read in windows of whole sentences, and the highest counts.

    :raises InputError: if it holds no model of entailment, or one that cannot be run.
    """
    config = torch_runtime.load_config(folder)
    label = _label(folder, config)
    classifier = torch_runtime.load_module(
        folder, "AutoModelForSequenceClassification", choice.device, choice.precision
    )
    module, pad = Entailing(classifier, label), torch_runtime.padding(config)
    tokenizer = tokenizer_of(folder, config, max_tokens(folder.path, config))

    def scores(pairs: Sequence[Pair], language: str) -> Sequence[float]:
        windows = [windows_of(pair, tokenizer, language) for pair in pairs]
        sequences = tokenizer.pairs([window for some in windows for window in some])
        made: NDArray[np.float32] = torch_runtime.run_sorted(module, sequences, pad, choice)
        ends = np.cumsum([len(some) for some in windows])
        return [float(max(each)) for each in np.split(made, ends[:-1])]

    return scores


def windows_of(pair: Pair, tokenizer: Tokenizer, language: str) -> list[Pair]:
    """The pair itself if it fits; else with as many whole sentences of the evidence as do, each window from the last
    sentence of the one before on. A sentence that does not fit alone is cut.
    """
    evidence, sentence = pair
    room = max(tokenizer.max_tokens - len(tokenizer.texts([sentence])[0]), tokenizer.max_tokens // 2)
    places = sentences(evidence, language)
    if len(places) < 2:
        return [pair]
    sizes = [len(tokens) for tokens in tokenizer.texts([evidence[start:end] for start, end in places])]
    windows, first = [], 0
    while True:
        last = first + 1
        while last < len(sizes) and sum(sizes[first : last + 1]) <= room:
            last += 1
        windows.append((evidence[places[first][0] : places[last - 1][1]], sentence))
        if last == len(sizes):
            return windows
        first = max(last - 1, first + 1)


def entailing(config: Any) -> int | None:
    """The number of the class that means entailment, by its name; None where no label or several are called so."""
    named = {int(number): str(name).strip().lower() for number, name in (config.id2label or {}).items()}
    found = [number for number, name in named.items() if name.startswith("entail")]
    return found[0] if len(found) == 1 else None


def _label(folder: ModelFolder, config: Any) -> int:
    heads, label = config.architectures or [], entailing(config)
    if label is None or not any(head.endswith("ForSequenceClassification") for head in heads):
        labels = ", ".join(map(str, (config.id2label or {}).values()))
        raise InputError(
            f"{folder.path}: {', '.join(heads) or config.model_type} with the labels {labels} is no model of "
            "entailment; wanted one for sequence classification whose id2label in config.json names one label "
            "entailment."
        )
    return label
