"""Real generators, made in a moment: transformers' own classes with random weights, and a tokenizer trained here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

WORDS = "Who wrote Faust? When was he born? Goethe wrote Faust in Weimar. Question: Answer: Rewrite: ||| "


def make(kind: str, folder: Path, texts: Iterable[str] = (WORDS,), size: int = 16, seed: int = 0) -> tuple[Any, Any]:
    """Save a model and its tokenizer; returns both, for tests that train the model."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<pad>", "</s>"]
    inner.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=600, special_tokens=special, initial_alphabet=alphabet, show_progress=False),
    )
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>")
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    ids = {"vocab_size": len(tokenizer), "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 1}
    half = size // 2
    if kind == "t5":
        config = transformers.T5Config(
            **ids, d_model=size, d_kv=half, d_ff=2 * size, num_layers=2, num_heads=2, decoder_start_token_id=0
        )
    elif kind == "bart":
        config = transformers.BartConfig(
            **ids, d_model=size, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, forced_eos_token_id=1,
            decoder_attention_heads=2, encoder_ffn_dim=size, decoder_ffn_dim=size, decoder_start_token_id=1,
        )  # fmt: skip
    elif kind == "gpt2":
        config = transformers.GPT2Config(**ids, n_embd=size, n_layer=2, n_head=2, n_positions=256)
    else:
        config = transformers.LlamaConfig(
            **ids, hidden_size=size, intermediate_size=2 * size, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, max_position_embeddings=2048,
        )  # fmt: skip
    auto = transformers.AutoModelForSeq2SeqLM if config.is_encoder_decoder else transformers.AutoModelForCausalLM
    model = auto.from_config(config)
    model.save_pretrained(folder)
    return model, tokenizer
