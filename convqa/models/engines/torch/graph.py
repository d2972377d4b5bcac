"""Load the weights of an ONNX graph into a torch network, int8 weights as float32."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError, reason_of
from convqa.models.engines.torch.runtime import import_torch
from convqa.models.folder import ONNX, ModelFolder

_PARAMETERS = {
    "Add": ("bias",),
    "Gather": ("weight",),
    "Gemm": ("weight", "bias"),
    "LayerNormalization": ("weight", "bias"),
    "MatMul": ("weight",),
    "MatMulInteger": ("weight",),
}
"""Operator -> parameters that its constants are to the layer in its name, such as ``/trunk/encoder/layer.0/...``."""


def fill(network: Any, folder: ModelFolder) -> None:
    """Load the weights of the graph in a folder into a torch network.

    :raises InputError: if the graph cannot be read or belongs to another network.
    """
    torch = import_torch()
    tensors = {name: torch.from_numpy(array.copy()) for name, array in _weights(folder).items()}
    try:
        keys = network.load_state_dict(tensors, strict=False)
        # BERT's class adds a pooler over the first token, which a graph without a classifier lacks.
        missing = [name for name in keys.missing_keys if "pooler" not in name]
        if missing:
            raise RuntimeError(f"{len(missing)} tensors are missing, such as {missing[0]}")
    except RuntimeError as error:
        raise InputError(
            f"{folder.path / ONNX}: torch cannot run this graph: {reason_of(error)}. Run it on the CPU, or name the "
            "model of transformers that it was exported from."
        ) from None


def _weights(folder: ModelFolder) -> dict[str, NDArray[Any]]:
    """Return the constants of a graph under the network's names."""
    import onnx
    from onnx import numpy_helper

    try:
        graph = onnx.load(str(folder.path / ONNX)).graph
    except Exception as error:  # errors of protobuf and of the file system
        raise InputError(f"{folder.path / ONNX}: cannot be read ({reason_of(error)}). Copy the model again.") from error
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    # Constants that layers share are stored once and repeated by Identity nodes.
    for node in graph.node:
        if node.op_type == "Identity" and node.input[0] in constants:
            constants[node.output[0]] = constants[node.input[0]]
    weights: dict[str, NDArray[Any]] = {}
    for node in graph.node:
        layer = ".".join(node.name.strip("/").split("/")[:-1])
        parameters = iter(_PARAMETERS.get(node.op_type, ()))
        for name in node.input:
            array = _dequantized(name, constants)
            if array is None or array.dtype != np.float32:
                continue
            parameter = next(parameters, None)
            if parameter is not None:
                weights[f"{layer}.{parameter}"] = array.T if node.op_type.startswith("MatMul") else array
    for name in constants:
        array = _dequantized(name, constants)
        if array is not None:
            weights[name.removesuffix("_quantized")] = array
    return weights


def _dequantized(name: str, constants: dict[str, NDArray[Any]]) -> NDArray[Any] | None:
    """Return a constant as it was before quantization, None for other names and for parameters of quantization."""
    if name.endswith(("_scale", "_zero_point")):
        return None
    stem = name.removesuffix("_quantized")
    if stem == name or f"{stem}_scale" not in constants:
        return constants.get(name)
    integers = constants[name].astype(np.float32)
    zero_point = constants[f"{stem}_zero_point"].astype(np.float32)
    array: NDArray[Any] = (integers - zero_point) * constants[f"{stem}_scale"]
    return array
