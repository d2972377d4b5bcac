"""Generate text with encoder-decoders (T5, BART) and causal models (GPT, Llama) on torch."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from convqa.errors import InputError
from convqa.files import replace_surrogates
from convqa.models.engines import choose
from convqa.models.folder import ModelFolder
from convqa.models.once import once
from convqa.models.source import find_model
from convqa.models.types import Choice, Model, Options

MAX_PROMPT_TOKENS = 1024
MIN_PROMPT_TOKENS = 32

_PROMPTS_PER_BATCH = 16


class GeneratedText(NamedTuple):
    """The text generated for a prompt; ``finished``: the model ended it itself."""

    text: str
    finished: bool


class Generator(Model):
    """A model and its tokenizer. Decoding is deterministic: it takes the likeliest token or beam. Thread-safe."""

    def __init__(self, folder: ModelFolder, choice: Choice) -> None:
        from convqa.models.engines.torch.transformers import load_writer

        super().__init__(folder.name, folder.checksum(), choice)
        self._model, self._tokenizer = load_writer(
            folder,
            choice.device,
            choice.precision,
        )
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self.kind: Literal["seq2seq", "causal"] = "seq2seq" if self._model.config.is_encoder_decoder else "causal"

    @property
    def has_chat_template(self) -> bool:
        """Whether the model can chat."""
        return bool(getattr(self._tokenizer, "chat_template", None))

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [len(ids) for ids in self._ids(texts, False)]

    def room(self, most_tokens: int) -> int:
        """Return the maximum tokens of a prompt if the model has to generate ``most_tokens``.

        :raises InputError: if there is too little room for a prompt.
        """
        positions = getattr(self._model.config, "max_position_embeddings", None)
        if not positions:  # T5 has no hard limit
            return MAX_PROMPT_TOKENS
        # A causal model reads and writes in the same positions; an encoder-decoder has as many for each.
        is_causal = self.kind == "causal"
        reserved = MIN_PROMPT_TOKENS if is_causal else 0
        if most_tokens > positions - reserved:
            raise InputError(
                f"max_new_tokens: expected {max(positions - reserved, 0)} or less, got {most_tokens}: the model "
                f"{self.name!r} has {positions} positions, of which {reserved} are reserved for the prompt."
            )
        return int(positions) - most_tokens if is_causal else min(int(positions), MAX_PROMPT_TOKENS)

    def write(
        self,
        prompts: Sequence[str],
        most_tokens: int,
        beams: int = 1,
        longest_input: int = MAX_PROMPT_TOKENS,
        chat: bool = False,
    ) -> list[GeneratedText]:
        """Generate one text per prompt, in order.

        :param most_tokens: maximum tokens of a text. :param beams: 1 = greedy.
        :param longest_input: maximum tokens of a prompt; a longer one loses its middle.
        :param chat: treat each prompt as a user's message for the chat template, which must exist.
        :raises InputError: if there is too little room (:meth:`room`).
        """
        import torch

        room = min(longest_input, self.room(most_tokens))
        if chat:
            prompts = [self._as_chat(prompt) for prompt in prompts]
        # A chat template adds its own special tokens.
        rows = self._ids(prompts, not chat)
        # A model needs at least one token.
        ids = [_without_middle(row, room) or [self._tokenizer.pad_token_id] for row in rows]
        # Prompts of similar length share a batch, to save padding. The sort is stable, hence reproducible.
        order = sorted(range(len(ids)), key=lambda index: len(ids[index]))
        texts: dict[int, GeneratedText] = {}
        config = self._config(most_tokens, beams)
        with torch.inference_mode():
            for start in range(0, len(order), _PROMPTS_PER_BATCH):
                batch = order[start : start + _PROMPTS_PER_BATCH]
                generated = self._batch([ids[index] for index in batch], config)
                texts.update(zip(batch, generated, strict=True))
        return [texts[index] for index in range(len(ids))]

    def _batch(
        self,
        rows: Sequence[list[int]],
        config: Any,
    ) -> list[GeneratedText]:
        # A causal model continues at the end of the prompt, so padding comes first.
        is_causal = self.kind == "causal"
        inputs = self._tokenizer.pad(
            {"input_ids": rows},
            padding_side="left" if is_causal else "right",
            return_tensors="pt",
            verbose=False,
        )
        sequences = self._model.generate(**inputs.to(self._model.device), generation_config=config)
        ends = config.eos_token_id
        if not isinstance(ends, list):
            ends = [ends]
        # A causal model repeats the prompt, an encoder-decoder has one token that starts the text.
        start = inputs["input_ids"].shape[1] if is_causal else 1
        return [self._decoded(row[start:], ends) for row in sequences.tolist()]

    def _decoded(
        self,
        ids: Sequence[int],
        ends: Sequence[int],
    ) -> GeneratedText:
        stop = next((index for index, id in enumerate(ids) if id in ends), None)
        text = self._tokenizer.decode(
            ids[:stop],
            skip_special_tokens=True,
            clean_up_tokenization_spaces=False,
        )
        return GeneratedText(text, stop is not None)

    def _as_chat(self, message: str) -> str:
        turns = [{"role": "user", "content": message}]
        return str(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))

    def _ids(self, texts: Sequence[str], special: bool) -> list[list[int]]:
        if not texts:
            return []
        # Tokenizers reject lone surrogates. Too long texts need no warning: they are truncated here.
        rows = self._tokenizer(
            replace_surrogates(list(texts)),
            add_special_tokens=special,
            verbose=False,
        )["input_ids"]
        return [list(ids) for ids in rows]

    def _config(self, most_tokens: int, beams: int) -> Any:
        """Return the model's own generation settings, made deterministic and with an end token."""
        config = copy.deepcopy(self._model.generation_config)
        config.update(
            max_new_tokens=most_tokens,
            max_length=None,
            min_length=0,
            min_new_tokens=None,
            num_beams=beams,
            do_sample=False,
            temperature=None,
            top_p=None,
            top_k=None,
            typical_p=None,
            max_time=None,
            num_return_sequences=1,
            return_dict_in_generate=False,
        )
        if config.eos_token_id is None:
            config.eos_token_id = self._tokenizer.eos_token_id
        if config.pad_token_id is None:
            config.pad_token_id = self._tokenizer.pad_token_id
        return config


def _without_middle(ids: list[int], room: int) -> list[int]:
    """Keep the beginning, which names the topic, and the end, which has the question.

    >>> _without_middle([1, 2, 3, 4, 5, 6], 4)
    [1, 2, 5, 6]
    """
    if len(ids) <= room:
        return ids
    head = room // 2
    tail = room - head
    return ids[:head] + ids[len(ids) - tail :]


def load_generator(name: str, options: Options = Options()) -> Generator:  # noqa: B008 - frozen
    """Load a generator, once per process, on torch.

    The default precision is float32, because in lower ones batch-mates may change the text.

    :raises InputError: if the model is unknown, damaged, not a generator, or cannot run with these options.
    """
    folder = find_model(name)
    folder.require_kind("generator")
    if options.precision == "auto":
        options = replace(options, precision="float32")
    choice = choose(folder, options)
    key = ("generator", folder.path, folder.checksum(), choice)
    return once(key, lambda: Generator(folder, choice))
