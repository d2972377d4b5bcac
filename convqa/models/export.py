"""Models of torch as graphs for ONNX Runtime, and these made smaller and faster (the extra ``train``)."""

from __future__ import annotations

import json
import logging
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from convqa.errors import InputError, reason_of
from convqa.models.check import kind_of
from convqa.models.folder import CARD, ONNX, TOKENIZER, check_target, licence_of, write_folder
from convqa.models.source import find_model
from convqa.models.tokens import Tokenizer
from convqa.models.types import PER_TOKEN, Choice

_EXAMPLE = (2, 16)
"""Sequences and tokens of the batch that the exporter follows; both are free in the graph."""


def export(name: str, target: Path) -> None:
    """Write the encoder, the scorer of pairs or the reader of that name as a float32 graph into a new folder."""
    check_target(target)
    needs_onnx()
    folder = find_model(name)
    if folder.has_onnx:
        raise InputError(f"{folder.path} is exported already; convqa models quantize makes it smaller.")
    from convqa.models.engines.torch.networks import LOADERS

    found = kind_of(folder)
    # A model of entailment may score pairs, and a masked language model may be an encoder; a generator is refused as
    # what it is.
    kind = {"support": "pairs", "sparse": "encoder", "generator": "encoder"}.get(found, found)
    module, tokenizer, about = LOADERS[kind](folder, Choice("torch", "cpu", "float32"))
    licence = licence_of(folder.path)
    about |= {
        "kind": kind, "name": target.resolve().name, "precision": "float32", "max_tokens": tokenizer.max_tokens,
        "base": folder.path.name if Path(folder.name).expanduser().is_dir() else folder.name,
        "languages": folder.languages, "licence": licence, "source": folder.checksum(),
    }  # fmt: skip
    card = (
        f"# {folder.name} for ONNX Runtime\n\nThe {kind} {folder.name}, exported in float32 by `convqa models export`. "
        f"Licence: {licence or 'see the original'}. What it was trained on and what it is for: see the original's "
        "card.\n"
    )
    try:
        write_model(target, module, tokenizer, about, card)
    except InputError:
        raise
    except Exception as error:  # whatever models and exporter raise
        raise InputError(
            f"{folder.path}: cannot be made a graph ({reason_of(error)}). Use it as it is, on torch."
        ) from error


def quantize(name: str, target: Path) -> None:
    """Write the float32 model in a folder as an int8 model into a new folder."""
    check_target(target)
    needs_onnx()
    folder = find_model(name)
    manifest = folder.manifest
    if manifest is None and kind_of(folder) == "generator":
        raise InputError(f"{folder.path} is a generator, which runs on torch only; there is no int8 model of it.")
    if manifest is None or not folder.has_onnx:
        raise InputError(f"{folder.path} holds no {ONNX}: make one first with convqa models export.")
    if manifest.precision != "float32":
        raise InputError(f"{folder.path} is {manifest.precision} already; wanted a float32 model.")
    with tempfile.TemporaryDirectory() as aside:
        graph = Path(aside) / ONNX
        _quantize_graph(folder.path / ONNX, graph)
        card = f"{(folder.path / CARD).read_text(encoding='utf-8')}\nMade int8 by `convqa models quantize`.\n"
        about = manifest.model_dump(exclude={"format", "files"})
        about |= {"name": target.resolve().name, "precision": "int8"}
        write_folder(target, about, {ONNX: graph, TOKENIZER: folder.path / TOKENIZER, CARD: card.encode()})


def write_model(target: Path, module: Any, tokenizer: Tokenizer, about: Mapping[str, Any], card: str) -> None:
    """Write a torch module as the folder of a model for ONNX Runtime.

    :param module: names its ``inputs`` and ``outputs``; it stays on its device, but answers from now on as in use.
    :param about: the manifest's fields; the graph is of the kind and the precision that they name.
    """
    with tempfile.TemporaryDirectory() as aside:
        graph = Path(aside) / ONNX
        _to_onnx(module, graph, about["kind"] in PER_TOKEN)
        if about["precision"] == "int8":
            whole = graph.rename(graph.with_name("float32.onnx"))
            _quantize_graph(whole, graph)
        about = {**about, "config": _described(module.config)}
        write_folder(target, about, {ONNX: graph, TOKENIZER: tokenizer.inner.to_str().encode(), CARD: card.encode()})


def _described(config: Any) -> dict[str, Any]:
    """transformers' configuration of a network, without what names files of this machine."""
    hidden = {"_name_or_path", "transformers_version", "dtype", "torch_dtype"}
    return {name: value for name, value in json.loads(config.to_json_string()).items() if name not in hidden}


def needs_onnx() -> None:
    """Say early what exporting and quantizing need."""
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise InputError("onnx is not installed. Install the extra train: pip install 'convqa[train]'") from None


def _to_onnx(module: Any, target: Path, per_token: bool) -> None:
    """Write a graph whose inputs are token arrays (sequences, tokens), both axes free.

    :param per_token: whether the second axis of its outputs is that of the tokens; the first is the sequences'.
    """
    import torch

    # As it answers, never as it trains: in the wrong mode its dropout would be in the graph.
    module.eval()
    device = next(module.parameters()).device
    example = {"input_ids": torch.full(_EXAMPLE, 5), "attention_mask": torch.ones(_EXAMPLE, dtype=torch.long)}
    example["attention_mask"][1, 9:] = 0
    example["token_type_ids"] = torch.zeros(_EXAMPLE, dtype=torch.long)
    free = {0: "sequences", 1: "tokens"}
    axes = dict.fromkeys(module.inputs, free)
    axes |= dict.fromkeys(module.outputs, free if per_token else {0: "sequences"})
    with warnings.catch_warnings(), torch.inference_mode():
        # The exporter that follows one run makes graphs that ONNX Runtime runs faster than the newer one's.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.cpu(), tuple(example[name] for name in module.inputs), str(target), input_names=list(module.inputs),
            output_names=list(module.outputs), dynamic_axes=axes, opset_version=17, dynamo=False,
        )  # fmt: skip
    module.to(device)


def _quantize_graph(source: Path, target: Path) -> None:
    """Write a float32 graph in int8: matrices per column, embeddings, activations at run time.

    Weights use 7 of the 8 bits: processors without VNNI add two products in 16 bits, which 8 bits overflow. So they
    give what others give, and little is lost.
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    # The library advises, on the root logger, what is done here.
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        with tempfile.TemporaryDirectory() as aside, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prepared = Path(aside) / "prepared.onnx"
            quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
            quantize_dynamic(prepared, target, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
    finally:
        root.setLevel(level)
