"""Smaller and faster graphs: weights in 8 bits, one scale for each column (the extra ``train``)."""

from __future__ import annotations

import logging
import tempfile
import warnings
from pathlib import Path

from convqa.errors import InputError
from convqa.models.check import kind_of
from convqa.models.export import needs_onnx
from convqa.models.folder import CARD, ONNX, TOKENIZER, check_target, write_folder
from convqa.models.source import find_model


def quantize(name: str, target: Path) -> None:
    """Write the float32 model in a folder as an int8 model into a new folder.

    :raises InputError: if the folder holds no float32 graph, or if the target is there already.
    """
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
        quantize_graph(folder.path / ONNX, graph)
        card = f"{(folder.path / CARD).read_text(encoding='utf-8')}\nMade int8 by `convqa models quantize`.\n"
        about = manifest.model_dump(exclude={"format", "files"})
        about |= {"name": target.resolve().name, "precision": "int8"}
        files: dict[str, Path | bytes] = {ONNX: graph, TOKENIZER: folder.path / TOKENIZER, CARD: card.encode()}
        write_folder(target, about, files)


def quantize_graph(source: Path, target: Path) -> None:
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
