"""Models of torch as graphs for ONNX Runtime (the extra ``train``)."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from convqa.errors import InputError, reason_of
from convqa.models.folder import CARD, ONNX, TOKENIZER, ModelFolder, check_target, licence_of, write_folder
from convqa.models.kinds.reader import HEADS
from convqa.models.kinds.reader import KIND as READER
from convqa.models.source import find_model
from convqa.models.types import Choice

TORCH = Choice("torch", "cpu", "float32")
_EXAMPLE = (2, 16)
"""Sequences and tokens of the batch that the exporter follows; both are free in the graph."""


def export(name: str, target: Path) -> None:
    """Write the encoder, the scorer of pairs or the reader of that name as a float32 graph into a new folder.

    :raises InputError: if there is no such model, if it cannot be exported, or if the target is there already.
    """
    check_target(target)
    needs_onnx()
    folder = find_model(name)
    if folder.has_onnx:
        raise InputError(f"{folder.path} is exported already; convqa models quantize makes it smaller.")
    module, tokenizer, about = _module(folder)
    with tempfile.TemporaryDirectory() as aside:
        graph = Path(aside) / ONNX
        try:
            to_onnx(module, module.inputs, module.outputs, graph, per_token=about["kind"] == READER)
        except Exception as error:  # whatever models and exporter raise
            raise InputError(
                f"{folder.path}: cannot be made a graph ({reason_of(error)}). Use it as it is, on torch."
            ) from error
        licence, card = licence_of(folder.path), _card(folder, about["kind"])
        files = {ONNX: graph, TOKENIZER: tokenizer.inner.to_str().encode(), CARD: card.encode()}
        base = folder.path.name if Path(folder.name).expanduser().is_dir() else folder.name
        about |= {"name": target.resolve().name, "base": base, "licence": licence, "precision": "float32"}
        write_folder(target, about, files)


def to_onnx(module: Any, inputs: Sequence[str], outputs: Sequence[str], target: Path, per_token: bool = False) -> None:
    """Write a torch module as a graph whose inputs are token arrays (sequences, tokens), both axes free.

    The module is exported as it answers, never as it trains: in the wrong mode its dropout would be in the graph.

    :param inputs: the names of the module's arguments, in order: input_ids, attention_mask, token_type_ids.
    :param outputs: names for what it returns, in order; the first axis of each is that of the sequences.
    :param per_token: whether the second axis of each is that of the tokens.
    """
    from convqa.models.engines.torch.runtime import import_torch

    torch = import_torch()
    module.eval()
    example = {"input_ids": torch.full(_EXAMPLE, 5), "attention_mask": torch.ones(_EXAMPLE, dtype=torch.long)}
    example["attention_mask"][1, 9:] = 0
    example["token_type_ids"] = torch.zeros(_EXAMPLE, dtype=torch.long)
    free = {0: "sequences", 1: "tokens"}
    axes = dict.fromkeys(inputs, free) | dict.fromkeys(outputs, free if per_token else {0: "sequences"})
    with warnings.catch_warnings(), torch.inference_mode():
        # The exporter that follows one run makes graphs that ONNX Runtime runs faster than the newer one's.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, tuple(example[name] for name in inputs), str(target), input_names=list(inputs),
            output_names=list(outputs), dynamic_axes=axes, opset_version=17, dynamo=False,
        )  # fmt: skip


def needs_onnx() -> None:
    """Say early what exporting and quantizing need.

    :raises InputError: if it is not installed.
    """
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise InputError("onnx is not installed. Install the extra train: pip install 'convqa[train]'") from None


def _module(folder: ModelFolder) -> tuple[Any, Any, dict[str, Any]]:
    """What is exported, its tokenizer, and what the manifest says of it."""
    from convqa.models.engines.torch import runtime as torch_runtime

    heads = torch_runtime.load_config(folder).architectures or []
    if any(head.endswith("ForSequenceClassification") for head in heads):
        from convqa.models.engines.torch.pairs import load_scored

        scored, tokenizer = load_scored(folder, TORCH)
        return scored, tokenizer, {"kind": "pairs", "max_tokens": tokenizer.max_tokens}
    if any(head.endswith(HEADS) for head in heads):
        from convqa.models.engines.torch.reader import load_spanned

        spanned, tokenizer = load_spanned(folder, TORCH)
        return spanned, tokenizer, {"kind": READER, "max_tokens": tokenizer.max_tokens}
    from convqa.models.engines.torch.encoder import load_pooled

    module, tokenizer, made = load_pooled(folder, TORCH)
    about = {
        "kind": "encoder",
        "dimension": module.trunk.config.hidden_size,
        "max_tokens": made.max_tokens,
        "pooling": made.pooling,
        "settings": {"prefixes": made.prefixes},
    }
    return module, tokenizer, about


def _card(folder: ModelFolder, kind: str) -> str:
    licence = licence_of(folder.path) or "see the original"
    return (
        f"# {folder.name} for ONNX Runtime\n\nThe {kind} {folder.name}, exported in float32 by `convqa models export`. "
        f"Licence: {licence}. What it was trained on and what it is for: see the original's card.\n"
    )
