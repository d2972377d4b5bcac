"""The networks that torch runs: a model of transformers with what turns its states or logits into outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from convqa.errors import InputError
from convqa.models.engines.torch import graph, runtime, transformers
from convqa.models.folder import Manifest, ModelFolder
from convqa.models.tokens import Tokenizer, Tokens, load_tokenizer
from convqa.models.types import OUTPUTS, PER_TOKEN, READER_TOKENS, Array, Choice, Network

torch = runtime.import_torch()

_READS = ("ForQuestionAnswering", "ForQuestionAnsweringSimple")
_WRITES = ("CausalLM", "LMHeadModel")
_CLASSIFIES = ("ForSequenceClassification",)
_MASKED = ("ForMaskedLM",)
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
    """A trunk whose last states become one vector of length 1: their mean over the text's tokens, or the first.

    ``weights`` pools a masked language model's logits as SPLADE does: each token's largest log(1 + relu(logit)).
    """

    outputs = OUTPUTS["encoder"]

    def __init__(self, trunk: Any, pooling: transformers.Pooling | Literal["weights"]) -> None:
        super().__init__(trunk.config)
        self.trunk = trunk
        self.inputs = self.inputs[:2]  # a single text is of type 0, which the model assumes
        self._pooling = pooling
        self.batch_share = 8 if pooling == "weights" else 1  # a token's logits are as many as the vocabulary has tokens

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
        """(n, tokens) each -> (n, dimension) in float32."""
        made = self.trunk(input_ids=input_ids, attention_mask=attention_mask, **self.types(token_type_ids))
        if self._pooling == "weights":
            return made.logits.float().mul_(attention_mask.unsqueeze(-1)).amax(1).relu().log1p()
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


class ResolverNet(torch.nn.Module):  # type: ignore[name-defined,misc]
    """Token ids -> what `convqa.models.kinds.resolver_output.Scores` holds, for a batch of sequences."""

    inputs = ("input_ids", "attention_mask", "token_type_ids")
    outputs = OUTPUTS["resolver"]

    def __init__(self, trunk: Any, patterns: int, seed: int) -> None:
        """
        :param trunk: transformers' model. :param patterns: how many there are; beside them there is "none".
        :param seed: of the heads' first weights.
        """
        super().__init__()
        self.config = trunk.config
        self.trunk = trunk
        # Its head for whole sequences would be trained by nothing.
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

    def forward(self, ids: Any, mask: Any, types: Any) -> tuple[Any, ...]:
        """Each (batch, length); the results with the batch as first axis."""
        states = self.trunk(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
        terms, deleted = self.words(states).unbind(-1)
        from_start, from_end = self.places(states).chunk(2, -1)
        to_start, to_end = self.spans(states).chunk(2, -1)
        starts = from_start @ to_start.transpose(1, 2) / self.scale
        ends = from_end @ to_end.transpose(1, 2) / self.scale
        return terms, deleted, self.patterns(states), starts, ends, self.needs(states).squeeze(-1)


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


def load_weighing(folder: ModelFolder, choice: Choice) -> Loaded:
    """The sparse encoder in a folder of transformers."""
    config = transformers.load_config(folder)
    if not _has_head(config, _MASKED):
        raise InputError(f"{folder.path}: {_called(config)} weighs no tokens; wanted a masked language model.")
    model = transformers.load_module(folder, "AutoModelForMaskedLM", choice.device, choice.precision)
    return Pooled(model, "weights"), transformers.tokenizer_of(folder, config), {"dimension": config.vocab_size}


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
    "sparse": load_weighing,
    "pairs": load_scored,
    "support": load_entailing,
    "reader": load_spanned,
}
"""Kind of model -> what loads it. Each raises InputError for a folder of another kind, and for one that cannot run."""


def load(folder: ModelFolder, choice: Choice, kind: str) -> Network:
    """The network of a folder of transformers, or of one with ``model.onnx``."""
    module, tokenizer, about = load_exported(folder, choice, kind) if folder.has_onnx else LOADERS[kind](folder, choice)
    pad = runtime.padding(module.config)

    def run(sequences: Sequence[Tokens]) -> list[list[Array]]:
        made = runtime.rows(module, sequences, pad, choice)
        if kind not in PER_TOKEN:
            return made
        return [_unpadded(row, len(tokens)) for row, tokens in zip(made, sequences, strict=True)]

    return Network(tokenizer, run, about.get("dimension", 0), about.get("settings", {}))


def load_exported(folder: ModelFolder, choice: Choice, kind: str) -> Loaded:
    """The network of a folder with ``model.onnx``, by the configuration that its manifest names."""
    import transformers as library

    manifest = folder.manifest
    assert manifest is not None
    manifest.want(kind, folder.path)
    if not manifest.config:
        raise InputError(
            f"{folder.path} was exported without the network's configuration, so that only ONNX Runtime runs it, on "
            f"the CPU in {manifest.precision}. Export the model again, or name the model of transformers."
        )
    # The weights that a network is made with are not looked at, and shall not change what chance gives others.
    with torch.random.fork_rng(devices=[]):
        config = library.AutoConfig.for_model(**manifest.config)
        auto: Any = getattr(library, _AUTO.get(kind, "AutoModel"))
        module = _WRAPPED[kind](auto.from_config(config), manifest)
    graph.fill(module, folder)
    module = module.to(choice.device, getattr(torch, choice.precision)).eval()
    about = {"dimension": manifest.dimension, "settings": manifest.settings}
    return module, load_tokenizer(folder.path, manifest.max_tokens), about


_AUTO = {"pairs": "AutoModelForSequenceClassification", "reader": "AutoModelForQuestionAnswering"}
_WRAPPED: Mapping[str, Callable[[Any, Manifest], Any]] = {
    "encoder": lambda model, manifest: Pooled(model, manifest.pooling or "mean"),
    "pairs": lambda model, _: Classifier(model),
    "reader": lambda model, _: Spanned(model),
    "resolver": lambda model, manifest: ResolverNet(model, len(manifest.settings["patterns"]), 0),
}


def _unpadded(outputs: list[Array], tokens: int) -> list[Array]:
    """A sequence's outputs, whose axes of tokens are as long as the longest sequence of its batch."""
    longest = len(outputs[0])
    return [output[:tokens, :tokens] if output.shape[1:] == (longest,) else output[:tokens] for output in outputs]


def kind_of(folder: ModelFolder) -> str:
    """encoder, sparse, pairs, reader, generator or support: by the head it names.

    A masked language model is sparse, unless sentence-transformers pools its tokens into one vector.
    """
    config = transformers.load_config(folder)
    if _has_head(config, _MASKED) and "Pooling" not in transformers.modules_of(folder.path):
        return "sparse"
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
