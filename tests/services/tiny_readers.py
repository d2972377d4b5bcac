"""Real readers of random weights, made in a moment, and tokenizers of the three kinds that they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from convqa.models.folder import TOKENIZER, open_folder
from convqa.models.kinds.reader import Calibration, SpanReader
from convqa.models.source import SHIPPED
from convqa.models.types import Choice, Network, Tokenizer, TokenSequence

TEXTS = (
    "Who wrote Faust? Goethe wrote Faust in Weimar. When was he born? He was born in Frankfurt in 1749.",
    "東京は日本の首都です。", "مرحبا بكم في فايمار. كيف حالك؟", "café résumé 👍🏽 naïve", "a\tb\r\nc  d : ; 1808",
)  # fmt: skip


def tokenizer(kind: str) -> Any:
    """A tokenizer of the library tokenizers: "words" as BERT has, "bytes" as RoBERTa, "pieces" as XLM-R, or "shipped",
    that of the encoder, which knows words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    if kind == "shipped":
        return Tokenizer.from_file(str(SHIPPED / "encoder" / TOKENIZER))
    if kind == "words":
        made = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
        made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(
            vocab_size=150, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
        )
        made.train_from_iterator(TEXTS, trainer)
        made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        return made
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    if kind == "bytes":
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        made.train_from_iterator(
            TEXTS,
            trainers.BpeTrainer(vocab_size=350, special_tokens=names, initial_alphabet=alphabet, show_progress=False),
        )
        made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
        return made
    made = Tokenizer(models.Unigram())
    made.normalizer, made.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=150, special_tokens=names, unk_token="<unk>", show_progress=False)
    made.train_from_iterator(TEXTS, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return made


def without_network(
    inner: Any, logits: Callable[[TokenSequence], np.ndarray], most: int = 384, calibration: Calibration | None = None
) -> Any:
    """A reader whose logits come from a function; ``seen`` lists the sequences of each of its calls."""
    seen: list[list[TokenSequence]] = []

    def all_logits(sequences: Sequence[TokenSequence]) -> list[list[np.ndarray]]:
        seen.append(list(sequences))
        return [list(logits(sequence)) for sequence in sequences]

    folder = open_folder("without network", SHIPPED / "encoder")
    choice = Choice("onnx", "cpu", "float32")
    settings = {"calibration": (calibration or Calibration()).model_dump()}
    reader: Any = SpanReader(folder, choice, Network(Tokenizer(inner, most), all_logits, settings=settings))
    reader.seen = seen
    return reader


def by_chance(tokens: TokenSequence) -> np.ndarray:
    """Logits that depend on every token of the sequence and on nothing else."""
    return np.random.default_rng([len(tokens), *tokens.ids]).normal(0, 3, (2, len(tokens))).astype(np.float32)


def that_likes(inner: Any, words: Mapping[str, float], **options: Any) -> Any:
    """A reader whose logits at a token of the passage are the words' numbers, -9 at others, and 0 at [CLS].

    A word of several tokens is liked from its first to its last.
    """
    parts = {word: inner.encode(word, add_special_tokens=False).ids for word in words}
    starts = {ids[0]: words[word] for word, ids in parts.items()}
    ends = {ids[-1]: words[word] for word, ids in parts.items()}

    def logits(tokens: TokenSequence) -> np.ndarray:
        made = np.array([[some.get(id, -9.0) for id in tokens.ids] for some in (starts, ends)], np.float32)
        made[:, 0] = 0
        return made

    return without_network(inner, logits, **options)


def make(family: str, folder: Path, places: int = 64, seed: int = 3) -> Path:
    """Save a model for question answering with its tokenizer, whose logits differ clearly from token to token.

    :param family: "Bert", "Roberta", "XLMRoberta", "DebertaV2", "DistilBert", "Electra", "Bart" or "Longformer".
    """
    import transformers

    kind = {
        "Roberta": "bytes",
        "Bart": "bytes",
        "Longformer": "bytes",
        "XLMRoberta": "pieces",
        "DebertaV2": "pieces",
    }.get(family, "words")
    inner = tokenizer(kind)
    special = {"words": ("[PAD]", "[CLS]", "[SEP]", "[UNK]")}.get(kind, ("<pad>", "<s>", "</s>", "<unk>"))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, model_max_length=places, **dict(zip(("pad_token", "cls_token", "sep_token",
        "unk_token"), special, strict=True)),
    ).save_pretrained(folder)  # fmt: skip
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    if family == "DistilBert":
        sizes = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}
    if family == "Bart":
        sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
                 "decoder_attention_heads": 2, "decoder_start_token_id": 2, "init_std": 0.5}  # fmt: skip
    if family == "Longformer":
        sizes |= {"attention_window": 16, "sep_token_id": 2}
    if family in {"Bert", "Electra"}:
        sizes["type_vocab_size"] = 2
    config = getattr(transformers, f"{family}Config")(
        **sizes, vocab_size=inner.get_vocab_size(), pad_token_id=inner.token_to_id(special[0]), initializer_range=0.5,
        max_position_embeddings=places + 2,
    )  # fmt: skip
    transformers.set_seed(seed)
    getattr(transformers, f"{family}ForQuestionAnswering")(config).save_pretrained(folder)
    return folder
