"""What runs a model's tensors: ONNX Runtime, or torch."""
