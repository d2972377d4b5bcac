"""The networks that torch runs: a model of transformers with what turns its states or logits into outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from convqa.errors import InputError
from convqa.models.engines.torch import runtime, transformers
from convqa.models.folder import ModelFolder
from convqa.models.tokens import Tokenizer, Tokens
from convqa.models.types import OUTPUTS, READER_TOKENS, Array, Choice, Network

torch = runtime.import_torch()

_READS = ("ForQuestionAnswering", "ForQuestionAnsweringSimple")
_WRITES = ("CausalLM", "LMHeadModel")
_CLASSIFIES = ("ForSequenceClassification",)
_ALWAYS_TWO = {"bart", "mbart", "led", "plbart", "mvp"}


class Module(torch.nn.Module):  # type: ignore[name-defined,misc]
    """A model of transformers. ``inputs`` and ``outputs`` name what ``forward`` takes and gives."""

    outputs: tuple[str, ...]

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self._typed = getattr(config, "type_vocab_size", 0) > 1
        self.inputs = ("input_ids", "attention_mask", "token_type_ids")[: 3 if self._typed else 2]

    def types(self, token_type_ids: Any) -> dict[str, Any]:
        """The types of the tokens, as far as the model takes them."""
        return {"token_type_ids": token_type_ids} if self._typed and token_type_ids is not None else {}


class Pooled(Module):
    """A trunk whose last states become one vector of length 1: their mean over the text's tokens, or the first."""

    outputs = OUTPUTS["encoder"]

    def __init__(self, trunk: Any, pooling: transformers.Pooling) -> None:
        super().__init__(trunk.config)
        self.trunk = trunk
        self.inputs = self.inputs[:2]  # a single text is of type 0, which the model assumes
        self._pooling = pooling

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
        """(n, tokens) each -> (n, dimension) in float32."""
        made = self.trunk(input_ids=input_ids, attention_mask=attention_mask, **self.types(token_type_ids))
        states = made.last_hidden_state.float()
        if self._pooling == "cls":
            pooled = states[:, 0]
        else:
            mask = attention_mask.unsqueeze(-1).to(states.dtype)
            pooled = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
        return torch.nn.functional.normalize(pooled, dim=1)


class Classifier(Module):
    """A classifier's answer as one number.

    That is the probability of the class ``label``; or without a label its only logit, or by how much that of the
    second class exceeds that of the first.
    """

    outputs = OUTPUTS["pairs"]

    def __init__(self, classifier: Any, label: int | None = None) -> None:
        super().__init__(classifier.config)
        self.classifier = classifier
        self._label = label

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
        """(n, tokens) each -> (n,) in float32."""
        made = self.classifier(input_ids=input_ids, attention_mask=attention_mask, **self.types(token_type_ids))
        logits = made.logits.float()
        if self._label is not None:
            return torch.softmax(logits, -1)[:, self._label]
        return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]


class Spanned(Module):
    """A model's logits of starts and of ends."""

    outputs = OUTPUTS["reader"]

    def __init__(self, answering: Any) -> None:
        super().__init__(answering.config)
        self.answering = answering

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> tuple[Any, Any]:
        """(n, tokens) each -> starts and ends, each (n, tokens) in float32."""
        made = self.answering(input_ids=input_ids, attention_mask=attention_mask, **self.types(token_type_ids))
        return made.start_logits.float(), made.end_logits.float()


Loaded = tuple[Any, Tokenizer, dict[str, Any]]
"""A network, its tokenizer, and the fields that its manifest would have beside those of every kind."""


def load_pooled(folder: ModelFolder, choice: Choice) -> Loaded:
    """The encoder in a folder of transformers or sentence-transformers."""
    config = transformers.load_config(folder)
    if config.is_encoder_decoder or _has_head(config, _WRITES):
        raise InputError(f"{folder.path}: {_called(config)} writes texts; wanted an encoder.")
    pooling, prefixes = transformers.pooling_of(folder.path), transformers.prefixes_of(folder.path)
    module = Pooled(transformers.load_module(folder, "AutoModel", choice.device, choice.precision), pooling)
    about = {"dimension": config.hidden_size, "pooling": pooling, "settings": {"prefixes": prefixes}}
    return module, transformers.tokenizer_of(folder, config), about


def load_scored(folder: ModelFolder, choice: Choice) -> Loaded:
    """The scorer of pairs in a folder of transformers."""
    config = transformers.load_config(folder)
    if not _has_head(config, _CLASSIFIES) or config.num_labels not in {1, 2}:
        raise InputError(
            f"{folder.path}: {_called(config)} with {config.num_labels} labels scores no pairs; wanted a model for "
            "sequence classification with one label or two."
        )
    return _classifier(folder, choice, config)


def load_entailing(folder: ModelFolder, choice: Choice) -> Loaded:
    """The model of entailment in a folder of transformers."""
    config = transformers.load_config(folder)
    label = _entailment(config)
    if label is None or not _has_head(config, _CLASSIFIES):
        labels = ", ".join(map(str, (config.id2label or {}).values()))
        raise InputError(
            f"{folder.path}: {_called(config)} with the labels {labels} is no model of entailment; wanted one for "
            "sequence classification whose id2label in config.json names one label entailment."
        )
    return _classifier(folder, choice, config, label)


def load_spanned(folder: ModelFolder, choice: Choice) -> Loaded:
    """The reader in a folder of transformers."""
    config = transformers.load_config(folder)
    # Heads of BART's family have two outputs, whatever their configuration says.
    labels = 2 if config.model_type in _ALWAYS_TWO else config.num_labels
    if not _has_head(config, _READS) or labels != 2:
        raise InputError(
            f"{folder.path}: {_called(config)} with {labels} labels finds no spans; wanted a model for extractive "
            "question answering, whose two are start and end."
        )
    module = Spanned(transformers.load_module(folder, "AutoModelForQuestionAnswering", choice.device, choice.precision))
    most = min(transformers.max_tokens(folder.path, config), READER_TOKENS)
    return module, transformers.tokenizer_of(folder, config, most), {}


def _classifier(folder: ModelFolder, choice: Choice, config: Any, label: int | None = None) -> Loaded:
    model = transformers.load_module(folder, "AutoModelForSequenceClassification", choice.device, choice.precision)
    return Classifier(model, label), transformers.tokenizer_of(folder, config), {}


LOADERS: Mapping[str, Callable[[ModelFolder, Choice], Loaded]] = {
    "encoder": load_pooled,
    "pairs": load_scored,
    "support": load_entailing,
    "reader": load_spanned,
}
"""Kind of model -> what loads it. Each raises InputError for a folder of another kind, and for one that cannot run."""


def load(folder: ModelFolder, choice: Choice, kind: str) -> Network:
    """The network of a folder of transformers."""
    module, tokenizer, about = LOADERS[kind](folder, choice)
    pad = runtime.padding(module.config)

    def run(sequences: Sequence[Tokens]) -> list[list[Array]]:
        made = runtime.rows(module, sequences, pad, choice)
        if kind != "reader":
            return made
        return [[output[: len(tokens)] for output in row] for row, tokens in zip(made, sequences, strict=True)]

    return Network(tokenizer, run, about.get("dimension", 0), about.get("settings", {}))


def kind_of(folder: ModelFolder) -> str:
    """encoder, pairs, reader, generator or support: by the head that a folder of transformers names."""
    config = transformers.load_config(folder)
    if _has_head(config, _READS):
        return "reader"
    if config.is_encoder_decoder or _has_head(config, _WRITES):
        return "generator"
    if not _has_head(config, _CLASSIFIES):
        return "encoder"
    return "pairs" if _entailment(config) is None else "support"


def _has_head(config: Any, endings: tuple[str, ...]) -> bool:
    return any(name.endswith(endings) for name in config.architectures or [])


def _called(config: Any) -> str:
    return ", ".join(config.architectures or []) or config.model_type


def _entailment(config: Any) -> int | None:
    """The number of the class that means entailment, by its name; None where no label or several are called so."""
    named = {int(number): str(name).strip().lower() for number, name in (config.id2label or {}).items()}
    found = [number for number, name in named.items() if name.startswith("entail")]
    return found[0] if len(found) == 1 else None
