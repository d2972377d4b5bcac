"""The networks that torch runs: models of transformers whose states or logits become outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from convqa.errors import InputError
from convqa.models.engines.torch import runtime, transformers
from convqa.models.folder import ModelFolder
from convqa.models.sentence_files import Pooling, max_tokens, pooling_of
from convqa.models.types import PER_TOKEN, READER_TOKENS, UNIT_OUTPUTS, Array, Choice, Network, Tokenizer, TokenSequence

torch = runtime.import_torch()


class Module(torch.nn.Module):  # type: ignore[name-defined,misc]
    """A model of transformers whose states or logits become outputs.

    ``inputs`` names the arguments of ``forward``, ``further`` its outputs besides those of the kind of model.
    """

    further: tuple[str, ...] = ()

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.trunk = model
        self.config = model.config
        self.inputs: tuple[str, ...] = ("input_ids", "attention_mask")
        if getattr(model.config, "type_vocab_size", 0) > 1:
            self.inputs += ("token_type_ids",)

    def forward(self, *inputs: Any) -> Any:
        """Ids, mask and types, (n, tokens) each -> the outputs, with one row per sequence."""
        named = dict(zip(self.inputs, inputs, strict=False))
        return self.result(self.trunk(**named), inputs[1])

    def result(self, output: Any, mask: Any) -> Any:
        """Return the outputs, made of those of the model."""
        raise NotImplementedError


class Pooled(Module):
    """A trunk whose last states are pooled into one vector of length 1: their mean over the text, or the first."""

    def __init__(
        self,
        trunk: Any,
        pooling: Pooling,
    ) -> None:
        super().__init__(trunk)
        self.inputs = self.inputs[:2]  # type 0, the default, for a single text
        self._pooling = pooling

    def result(self, output: Any, mask: Any) -> Any:
        """Return vectors, (n, dimension) in float32."""
        mask = mask.unsqueeze(-1)
        states = output.last_hidden_state.float()
        if self._pooling == "cls":
            pooled = states[:, 0]
        else:
            mask = mask.to(states.dtype)
            pooled = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
        return torch.nn.functional.normalize(pooled, dim=1)


class TurnPooled(Module):
    """A trunk whose last states are pooled into one vector of length 1: their mean over the tokens of type 0."""

    def forward(self, *inputs: Any) -> Any:
        """Ids, mask and types, (n, tokens) each -> a tuple of vectors, (n, dimension) in float32."""
        ids, mask, types = inputs
        output = self.trunk(input_ids=ids, attention_mask=mask, token_type_ids=types)
        own = (mask * (1 - types)).unsqueeze(-1).to(output.last_hidden_state.dtype)
        pooled = (output.last_hidden_state * own).sum(1) / own.sum(1).clamp(min=1)
        return (torch.nn.functional.normalize(pooled.float(), dim=1),)


class Classifier(Module):
    """A classifier reduced to one number.

    It is the probability of the class ``label``. Without a label, it is the only logit, or the second minus the first.
    """

    def __init__(self, classifier: Any, label: int | None = None) -> None:
        super().__init__(classifier)
        self._label = label

    def result(self, output: Any, mask: Any) -> Any:  # noqa: ARG002
        """Return scores, (n,) in float32."""
        logits = output.logits.float()
        if self._label is not None:
            return torch.softmax(logits, -1)[:, self._label]
        if logits.shape[1] == 1:
            return logits[:, 0]
        return logits[:, 1] - logits[:, 0]


class Spanned(Module):
    """The logits of span starts and span ends."""

    def result(self, output: Any, mask: Any) -> tuple[Any, Any]:  # noqa: ARG002
        """Return starts and ends, each (n, tokens) in float32."""
        return output.start_logits.float(), output.end_logits.float()


class ResolverNet(Module):
    """The network of the resolver; its outputs are the fields of ``convqa.models.kinds.resolver.ResolverLogits``.

    :param patterns: number of insertion patterns, without the class for no insertion.
    :param seed: seed of the heads' initial weights.
    """

    def __init__(self, trunk: Any, patterns: int, seed: int) -> None:
        super().__init__(trunk)
        # No loss would train its head for whole sequences.
        if getattr(trunk, "pooler", None) is not None:
            trunk.pooler = None
        width = trunk.config.hidden_size
        torch.manual_seed(seed)
        self.words = torch.nn.Linear(width, 2)
        self.needs = torch.nn.Linear(width, 1)
        self.patterns = torch.nn.Linear(width, patterns + 1)
        self.places = torch.nn.Linear(width, 2 * width)
        self.spans = torch.nn.Linear(width, 2 * width)
        self.scale = math.sqrt(width)

    def result(self, output: Any, mask: Any) -> tuple[Any, ...]:  # noqa: ARG002
        states = output.last_hidden_state
        terms, deleted = self.words(states).unbind(-1)
        from_start, from_end = self.places(states).chunk(2, -1)
        to_start, to_end = self.spans(states).chunk(2, -1)
        starts = from_start @ to_start.transpose(1, 2) / self.scale
        ends = from_end @ to_end.transpose(1, 2) / self.scale
        patterns = self.patterns(states)
        needs = self.needs(states).squeeze(-1)
        return terms, deleted, patterns, starts, ends, needs


class UnitNet(Module):
    """The network of a reader that scores units; its outputs are starts, ends, and ``UNIT_OUTPUTS``.

    :param seed: seed of the heads' initial weights.
    """

    further = UNIT_OUTPUTS

    def __init__(self, trunk: Any, seed: int) -> None:
        super().__init__(trunk)
        if getattr(trunk, "pooler", None) is not None:
            trunk.pooler = None
        width = trunk.config.hidden_size
        torch.manual_seed(seed)
        self.tokens = torch.nn.Linear(width, 4)
        self.dense = torch.nn.Linear(width, width)
        self.passage = torch.nn.Linear(width, 1)

    def result(self, output: Any, mask: Any) -> tuple[Any, ...]:  # noqa: ARG002
        states = output.last_hidden_state
        starts, ends, marks, tokens = self.tokens(states).unbind(-1)
        passage = self.passage(torch.tanh(self.dense(states[:, 0]))).squeeze(-1)
        return starts, ends, marks, tokens, passage


Loaded = tuple[Any, Tokenizer, dict[str, Any]]
"""A network, its tokenizer, and the manifest fields specific to its kind."""

_AUTO_CLASSES = {
    "encoder": "AutoModel",
    "pairs": "AutoModelForSequenceClassification",
    "support": "AutoModelForSequenceClassification",
    "reader": "AutoModelForQuestionAnswering",
}
"""Kind of model -> the class of transformers that loads it."""


def load(folder: ModelFolder, choice: Choice, kind: str) -> Network:
    """Load the network of a folder of transformers."""
    module, tokenizer, about = load_source(folder, choice, kind)
    pad = getattr(module.config, "pad_token_id", None) or 0  # masked, so that any token will do

    def run(sequences: Sequence[TokenSequence]) -> list[list[Array]]:
        rows = runtime.rows(module, sequences, pad, choice)
        if kind in PER_TOKEN:
            # The token axis is as long as the longest sequence of the batch.
            pairs = zip(rows, sequences, strict=True)
            return [[output[: len(tokens)] for output in row] for row, tokens in pairs]
        return rows

    return Network(
        tokenizer,
        run,
        about.get("dimension", 0),
        about.get("settings", {}),
    )


def load_source(folder: ModelFolder, choice: Choice, kind: str) -> Loaded:
    """Load a folder of transformers or sentence-transformers.

    :raises InputError: if it holds a model of another kind, or cannot be loaded.
    """
    if kind not in _AUTO_CLASSES:
        raise InputError(f"{folder.path}: expected a model of kind {kind!r}, got one of transformers.")
    config = transformers.load_config(folder)
    if kind == "encoder":
        _refuse_other(folder, config)
    model = transformers.load_module(
        folder,
        _AUTO_CLASSES[kind],
        choice.device,
        choice.precision,
    )
    about: dict[str, Any] = {}
    longest = max_tokens(folder.path, config)
    match kind:
        case "encoder":
            about["dimension"] = config.hidden_size
            about["pooling"] = folder.pooling
            about["settings"] = {"prefixes": folder.prefixes}
            module: Module = Pooled(model, about["pooling"])
        case "reader":
            longest = min(longest, READER_TOKENS)
            module = Spanned(model)
        case _:
            module = Classifier(model, _label(folder, config, kind))
    return module, transformers.tokenizer_of(folder, longest), about


_PURPOSES = {
    "MaskedLM": "predicts words, as sparse models (SPLADE) do; convqa has no learned sparse retrieval",
    "SequenceClassification": "scores pairs; use it as a cross-encoder (reranker.type=cross_encoder)",
    "QuestionAnswering": "reads answers; use it as a reader",
}


def _refuse_other(folder: ModelFolder, config: Any) -> None:
    """:raises InputError: for a model that is no encoder, by its class, unless its files name a pooling."""
    heads = [architecture.partition("For")[2] for architecture in config.architectures or []]
    purpose = "generates" if config.is_encoder_decoder else ""
    if not purpose and pooling_of(folder.path) is None:
        purpose = next((_PURPOSES[head] for head in heads if head in _PURPOSES), "")
    if purpose:
        raise InputError(
            f"{folder.path}: expected a model of kind 'encoder', got a {config.model_type}, which {purpose}."
        )


def _label(folder: ModelFolder, config: Any, kind: str) -> int | None:
    """Return the class whose probability is the score, the only one named entailment; None for a scorer of pairs."""
    labels = {int(index): str(label) for index, label in (config.id2label or {}).items()}
    if kind == "pairs" and len(labels) in {1, 2}:
        return None
    entailing = [index for index, label in labels.items() if label.strip().lower().startswith("entail")]
    if kind == "support" and len(entailing) == 1:
        return entailing[0]
    raise InputError(f"{folder.path}: expected a model of kind {kind!r}, got the labels {', '.join(labels.values())}.")
