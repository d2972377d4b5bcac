"""The network of a graph for ONNX Runtime as torch runs it: the same weights, in float32 where the graph has int8."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError, reason_of
from convqa.models.engines.torch.runtime import import_torch
from convqa.models.folder import ONNX, ModelFolder

_ROLES = {
    "Add": ("bias",), "Gather": ("weight",), "Gemm": ("weight", "bias"), "LayerNormalization": ("weight", "bias"),
    "MatMul": ("weight",), "MatMulInteger": ("weight",),
}  # fmt: skip
"""Operator -> what its constants are to the layer that its name leads to, such as ``/trunk/encoder/layer.0/...``."""


def fill(network: Any, folder: ModelFolder) -> None:
    """Give a torch network the weights of the graph in a folder.

    :raises InputError: if the graph cannot be read, or is not that of this network.
    """
    torch = import_torch()
    weights = _weights(folder)
    wanted = network.state_dict()
    # BERT's class makes a pooler over the first token, which a graph without a classifier does not have.
    missing = sorted(name for name in wanted if name not in weights and "pooler" not in name)
    named = {name: torch.from_numpy(weights[name].copy()) for name in wanted if name in weights}
    wrong = [name for name, values in named.items() if values.shape != wanted[name].shape]
    if missing or wrong:
        raise InputError(
            f"{folder.path / ONNX}: torch cannot run this graph: of the network's {len(wanted)} tensors {len(missing)} "
            f"are missing and {len(wrong)} have another shape, such as {(missing + wrong)[0]}. Run it on the CPU, or "
            "name the model of transformers that it was exported from."
        )
    network.load_state_dict(named, strict=False)


def _weights(folder: ModelFolder) -> dict[str, NDArray[Any]]:
    """The constants of a graph by the names that the network has for them."""
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError:
        raise InputError(
            f"onnx is not installed, by which torch gets the weights of {folder.path / ONNX}. Install the extra "
            "models: pip install 'convqa[models]'"
        ) from None
    try:
        graph = onnx.load(str(folder.path / ONNX)).graph
    except Exception as error:  # protobuf's errors, and those of files
        raise InputError(f"{folder.path / ONNX}: cannot be read ({reason_of(error)}). Copy the model again.") from error
    constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    # What several layers share, the exporter keeps once, and repeats under the others' names; some it leaves out.
    constants |= {
        node.output[0]: constants[node.input[0]]
        for node in graph.node
        if node.op_type == "Identity" and node.input[0] in constants
    }
    found: dict[str, NDArray[Any]] = {}
    for node in graph.node:
        layer = ".".join(node.name.strip("/").split("/")[:-1])
        made = [_plain(name, constants) for name in node.input]
        arrays = [array for array in made if array is not None and array.dtype == np.float32]
        for role, array in zip(_ROLES.get(node.op_type, ()), arrays, strict=False):
            found[f"{layer}.{role}"] = array.T if node.op_type.startswith("MatMul") else array
    direct = {name.removesuffix("_quantized"): _plain(name, constants) for name in constants}
    return found | {name: array for name, array in direct.items() if array is not None}


def _plain(name: str, constants: dict[str, NDArray[Any]]) -> NDArray[Any] | None:
    """A constant as it was before it was made int8; None for what is none, or only helps to quantize."""
    stem = name.removesuffix("_quantized")
    if stem == name or f"{stem}_scale" not in constants:
        return constants.get(name) if not name.endswith(("_scale", "_zero_point")) else None
    whole, zero = constants[name].astype(np.float32), constants[f"{stem}_zero_point"].astype(np.float32)
    plain: NDArray[Any] = (whole - zero) * constants[f"{stem}_scale"]
    return plain
