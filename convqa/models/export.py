"""Export models of torch to graphs for ONNX Runtime, and quantize these (the extra ``train``)."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from convqa.errors import InputError, reason_of
from convqa.files import log
from convqa.models.engines.torch.runtime import import_torch
from convqa.models.folder import CARD, ONNX, TOKENIZER, check_target, licence_of, write_folder
from convqa.models.kinds.encoder import load_encoder
from convqa.models.source import find_model
from convqa.models.types import OUTPUTS, PER_TOKEN, Choice, Options, Tokenizer

LEAST_COSINE = 0.98
"""An encoder in int8 with a vector below it is warned of. Good ones have .99, MPNet has .83."""

_EXAMPLES = (
    "Goethe wrote Faust. The first part appeared in 1808, the second one after his death.",
    "A physician's assistant examines patients, orders tests and prescribes medicine under a doctor's supervision.",
    "The notice period is three months to the end of a quarter (see section 8), unless both parties agree otherwise.",
    "What is the average starting salary in the UK?",
    "| drink | small | large |\n| tea | 2.50 | 3.20 |",
    "tides",
)

_EXAMPLE_SHAPE = (2, 16)
"""Shape of the batch that the exporter traces; both axes are dynamic in the graph."""

_KINDS = {"ForQuestionAnswering": "reader", "ForSequenceClassification": "pairs"}
"""Ending of the names of transformers' classes -> kind; any other model is an encoder."""


def export(
    name: str,
    target: Path,
    precision: Literal["float32", "int8"] = "float32",
) -> None:
    """Export an encoder, a scorer of pairs or a reader to a new folder."""
    check_target(target)
    import_torch()
    folder = find_model(name)
    if folder.has_onnx:
        raise InputError(f"{folder.path} is already exported.")
    from convqa.models.engines.torch.networks import load_source
    from convqa.models.engines.torch.transformers import load_config

    kind = "encoder"
    for architecture in load_config(folder).architectures or []:
        for ending, ending_kind in _KINDS.items():
            if architecture.endswith(ending):
                kind = ending_kind
    module, tokenizer, about = load_source(
        folder,
        Choice("torch", "cpu", "float32"),
        kind,
    )
    licence = licence_of(folder.path)
    about |= {
        "kind": kind,
        "name": target.resolve().name,
        "precision": precision,
        "max_tokens": tokenizer.max_tokens,
        "base": folder.path.name if Path(folder.name).expanduser().is_dir() else folder.name,
        "languages": folder.languages,
        "licence": licence,
        "source": folder.family,
    }
    card = (
        f"# {folder.name} for ONNX Runtime\n\nThe {kind} {folder.name}, exported in {precision} by `convqa models "
        f"export`. Licence: {licence or 'see the original'}. What it was trained on and what it is for: see the "
        "original's card.\n"
    )
    try:
        write_model(target, module, tokenizer, about, card)
    except InputError:
        raise
    except Exception as error:  # models and the exporter raise anything
        raise InputError(
            f"{folder.path}: cannot be exported to a graph ({reason_of(error)}). Use it on torch without export."
        ) from error
    if (kind, precision) == ("encoder", "int8"):
        original = load_encoder(name, Options("cpu", "float32")).encode(_EXAMPLES)
        least = float((original * load_encoder(str(target)).encode(_EXAMPLES)).sum(axis=1).min())
        if least < LEAST_COSINE:
            log.warning(
                "%s: int8 changes the vectors of this encoder much: the least cosine with float32 is %.3f, and %.2f is "
                "usual. Export it in float32.",
                target,
                least,
                LEAST_COSINE,
            )


def write_model(
    target: Path,
    module: Any,
    tokenizer: Tokenizer,
    about: Mapping[str, Any],
    card: str,
) -> None:
    """Write a torch module as a model folder for ONNX Runtime.

    :param module: has ``inputs``; it stays on its device and is left in evaluation mode.
    :param about: the manifest's fields; ``kind`` and ``precision`` decide how the graph is made.
    """
    with tempfile.TemporaryDirectory() as aside:
        graph = Path(aside) / ONNX
        _to_onnx(module, graph, about["kind"])
        if about["precision"] == "int8":
            float32_graph = graph.rename(graph.with_name("float32.onnx"))
            _quantize_graph(float32_graph, graph)
        files: dict[str, Path | bytes] = {
            ONNX: graph,
            TOKENIZER: tokenizer.inner.to_str().encode(),
            CARD: card.encode(),
        }
        write_folder(target, about, files)


def _to_onnx(module: Any, target: Path, kind: str) -> None:
    """Write a graph whose inputs are token arrays of any shape (sequences, tokens)."""
    import torch

    # In training mode, dropout would become part of the graph.
    module.eval()
    device = next(module.parameters()).device
    mask = torch.ones(_EXAMPLE_SHAPE, dtype=torch.long)
    mask[1, 9:] = 0
    example = {
        "input_ids": torch.full(_EXAMPLE_SHAPE, 5),
        "attention_mask": mask,
        "token_type_ids": torch.zeros(_EXAMPLE_SHAPE, dtype=torch.long),
    }
    dynamic_axes = {0: "sequences", 1: "tokens"}
    outputs = [*OUTPUTS[kind], *module.further]
    axes = dict.fromkeys(module.inputs, dynamic_axes)
    for name in outputs:
        axes[name] = dynamic_axes if kind in PER_TOKEN and name != "passage" else {0: "sequences"}
    with warnings.catch_warnings(), torch.inference_mode():
        # The graphs of the tracing exporter run faster on ONNX Runtime than those of the newer one.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.cpu(),
            tuple(example[name] for name in module.inputs),
            str(target),
            input_names=list(module.inputs),
            output_names=outputs,
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )
    module.to(device)


def _quantize_graph(source: Path, target: Path) -> None:
    """Quantize a float32 graph to int8: matrices per column, embeddings, and activations at run time.

    Weights use 7 of the 8 bits, because processors without VNNI add two products in 16 bits, which 8 bits would
    overflow. So results are the same on all processors.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    # The library logs advice to the root logger.
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        with tempfile.TemporaryDirectory() as aside, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prepared = Path(aside) / "prepared.onnx"
            quant_pre_process(
                str(source),
                str(prepared),
                skip_symbolic_shape=True,
            )
            quantize_dynamic(
                prepared,
                target,
                per_channel=True,
                reduce_range=True,
                weight_type=QuantType.QInt8,
            )
    finally:
        root.setLevel(level)
