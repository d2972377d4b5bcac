"""Write the shipped reader's training weights as two Hugging Face folders: a reader of spans and a cross-encoder.

    python benchmarks/hf_heads.py l6.fp16.safetensors TARGET

The pipeline ``transformers`` then runs with trained weights where no such model can be downloaded
(docs/benchmarks/README.md). The span head and the passage head were trained on longer inputs than a question and a
passage, so that both are weaker here than in the shipped reader.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertForQuestionAnswering, BertForSequenceClassification, PreTrainedTokenizerFast

from convqa.models.source import SHIPPED

TOKENIZER = SHIPPED / "reader" / "tokenizer.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    tensors = {name: tensor.float() for name, tensor in load_file(options.weights).items()}
    layers = 1 + max(int(name.split(".")[3]) for name in tensors if name.startswith("bert.encoder.layer."))
    vocabulary, width = tensors["bert.embeddings.word_embeddings.weight"].shape
    config = BertConfig(
        vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=12,
        intermediate_size=4 * width,
    )  # fmt: skip
    trunk = {name: tensor for name, tensor in tensors.items() if name.startswith("bert.")}
    # The first two rows of the token head are the starts and the ends of spans.
    spans = {"qa_outputs.weight": tensors["token.weight"][:2], "qa_outputs.bias": tensors["token.bias"][:2]}
    passages = {
        "bert.pooler.dense.weight": tensors["dense.weight"],
        "bert.pooler.dense.bias": tensors["dense.bias"],
        "classifier.weight": tensors["passage.weight"],
        "classifier.bias": tensors["passage.bias"],
    }
    config.num_labels = 1
    _save(BertForSequenceClassification(config), trunk | passages, options.target / "cross-encoder")
    config.num_labels = 2
    _save(BertForQuestionAnswering(config), trunk | spans, options.target / "reader")


def _save(model: torch.nn.Module, tensors: dict[str, torch.Tensor], folder: Path) -> None:
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    assert not unexpected and not [name for name in missing if "position_ids" not in name], (missing, unexpected)
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_file=str(TOKENIZER)).save_pretrained(folder)
    shutil.copy(TOKENIZER, folder / "tokenizer.json")


if __name__ == "__main__":
    main()
