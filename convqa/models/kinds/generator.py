"""Models that write: encoder-decoders (T5, BART) and causal ones (GPT, Llama), run by torch."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from convqa.errors import InputError
from convqa.files import replace_surrogates
from convqa.models.engines import choose
from convqa.models.folder import ModelFolder
from convqa.models.once import once
from convqa.models.source import find_model
from convqa.models.types import Choice, Model, Options

LONGEST = 1024
"""Tokens of a prompt, where neither the model nor the caller sets a smaller limit."""

LEAST = 32
"""Tokens that a model must have room for, to be shown a question."""


class Written(NamedTuple):
    """A text that was written for one prompt; ``finished`` = the model came to an end by itself."""

    text: str
    finished: bool


@dataclass(frozen=True, slots=True)
class Generator(Model):
    """A model and its tokenizer. Always takes the likeliest token or beam, so that equal prompts give equal texts.

    Safe to share between threads. ``settings`` is the mapping ``convqa`` in the model's config.json, where it has one.
    ``runs`` says how it runs.
    """

    name: str
    checksum: str
    kind: Literal["seq2seq", "causal"]
    settings: Mapping[str, Any]
    runs: Choice
    _model: Any
    _tokenizer: Any

    @property
    def has_chat_template(self) -> bool:
        """Whether the model was made for turns of a chat."""
        return bool(getattr(self._tokenizer, "chat_template", None))

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text takes."""
        return [len(ids) for ids in self._ids(texts, False)]

    def room(self, most_tokens: int) -> int:
        """How many tokens of a prompt the model can be shown, where it is to write ``most_tokens``.

        :raises InputError: if that is next to none.
        """
        places = getattr(self._model.config, "max_position_embeddings", None)
        if not places:  # T5 has no limit but what it was trained on
            return LONGEST
        # A causal model writes into the same places, an encoder-decoder into as many of its own.
        most = int(places) - LEAST if self.kind == "causal" else int(places)
        if most_tokens > most:
            raise InputError(
                f"most_tokens: found {most_tokens}; wanted {max(most, 0)} or less: the model {self.name!r} has "
                f"{places} positions{f', and {LEAST} are for what it reads' if self.kind == 'causal' else ''}."
            )
        return int(places) - most_tokens if self.kind == "causal" else min(int(places), LONGEST)

    def check_chat(self) -> None:
        """Refuse to chat with a model that was not made for it.

        :raises InputError: if it has no chat template.
        """
        if not self.has_chat_template:
            raise InputError(f"the model {self.name!r} has no chat template; choose another format than chat.")

    def generate(self, prompts: Sequence[str], most_tokens: int) -> list[str]:
        """The texts alone."""
        return [written.text for written in self.write(prompts, most_tokens)]

    def write(
        self,
        prompts: Sequence[str],
        most_tokens: int,
        beams: int = 1,
        longest_input: int = LONGEST,
        batch_size: int = 16,
        seconds: float | None = None,
        chat: bool = False,
    ) -> list[Written]:
        """Go on from each prompt; results in the order of the prompts.

        :param most_tokens: tokens written at most. :param beams: 1 = greedy.
        :param longest_input: tokens of a prompt; of a longer one, the middle is left out.
        :param seconds: time for one batch; None = as long as it takes. A limit makes texts depend on the machine.
        :param chat: each prompt is a user's message, to be put into the model's chat template.
        :raises InputError: if the model cannot write so much (:meth:`room`), or has no chat template.
        """
        import torch

        room = min(longest_input, self.room(most_tokens))
        if chat:
            self.check_chat()
        # A chat template writes its special tokens itself.
        rows = self._ids([self._as_chat(prompt) for prompt in prompts], False) if chat else self._ids(prompts, True)
        ids = [_without_middle(row, room) for row in rows]
        # Prompts of like length together: less padding. Ties by place, so that the batches are always the same.
        order = sorted(range(len(ids)), key=lambda place: (len(ids[place]), place))
        written: list[Written] = [Written("", True)] * len(ids)
        config = self._config(most_tokens, beams, seconds)
        with torch.inference_mode():
            for start in range(0, len(order), batch_size):
                places = order[start : start + batch_size]
                for place, made in zip(places, self._batch([ids[place] for place in places], config), strict=True):
                    written[place] = made
        return written

    def _batch(self, rows: Sequence[list[int]], config: Any) -> list[Written]:
        import torch

        longest = max(1, *map(len, rows))
        ids = torch.full((len(rows), longest), config.pad_token_id)
        mask = torch.zeros_like(ids)
        # A causal model goes on where the prompt ends, so padding comes first.
        left = self.kind == "causal"
        for place, row in enumerate(rows):
            there = slice(longest - len(row), longest) if left else slice(len(row))
            ids[place, there] = torch.tensor(row, dtype=ids.dtype)
            mask[place, there] = 1
        device = self._model.device
        made = self._model.generate(
            input_ids=ids.to(device), attention_mask=mask.to(device), generation_config=config
        ).tolist()
        ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
        return [self._written(row[longest:] if left else row[1:], ends) for row in made]

    def _written(self, ids: Sequence[int], ends: Sequence[int]) -> Written:
        stop = next((place for place, id in enumerate(ids) if id in ends), None)
        text = self._tokenizer.decode(ids[:stop], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return Written(text, stop is not None)

    def _as_chat(self, message: str) -> str:
        turns = [{"role": "user", "content": message}]
        return str(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))

    def _ids(self, texts: Sequence[str], special: bool) -> list[list[int]]:
        if not texts:
            return []
        # Tokenizers refuse half characters. A text longer than the model's room is no news: it is cut here.
        whole = replace_surrogates(list(texts))
        found = self._tokenizer(whole, add_special_tokens=special, verbose=False)["input_ids"]
        return [list(ids) for ids in found]

    def _config(self, most_tokens: int, beams: int, seconds: float | None) -> Any:
        """The model's own settings for generating, without any chance in them and with an end."""
        config = copy.deepcopy(self._model.generation_config)
        config.update(
            max_new_tokens=most_tokens, max_length=None, min_length=0, min_new_tokens=None, num_beams=beams,
            do_sample=False, temperature=None, top_p=None, top_k=None, typical_p=None, max_time=seconds,
            num_return_sequences=1, return_dict_in_generate=False,
        )  # fmt: skip
        if config.eos_token_id is None:
            config.eos_token_id = self._tokenizer.eos_token_id
        if config.pad_token_id is None:
            ends = config.eos_token_id
            config.pad_token_id = ends[0] if isinstance(ends, list) else ends
        return config


def _without_middle(ids: list[int], room: int) -> list[int]:
    """The beginning, which names the topic, and the end, where the question stands.

    >>> _without_middle([1, 2, 3, 4, 5, 6], 4)
    [1, 2, 5, 6]
    """
    head = room // 2
    return ids if len(ids) <= room else [*ids[:head], *ids[len(ids) - (room - head) :]]


def load_generator(name: str, options: Options = Options()) -> Generator:  # noqa: B008 - frozen
    """The generator of that name, loaded once per process; torch only, and float32 unless another precision is named.

    (In lower precisions what a prompt is batched with may change the text.)

    :raises InputError: if there is none, if it is damaged or no generator, or cannot be run as the options ask.
    """
    folder = find_model(name)
    if folder.manifest is not None:
        raise InputError(f"{folder.path} holds a model of kind {folder.manifest.kind!r}; wanted a generator.")
    if options.engine == "onnx" or options.precision == "int8":
        asked = "engine onnx" if options.engine == "onnx" else "precision int8"
        raise InputError(f"a generator runs on torch, in float32 or bfloat16; {asked} was asked for.")
    choice = choose(folder, replace(options, precision="float32") if options.precision == "auto" else options)
    return once(("generator", folder.path, folder.checksum(), choice), lambda: _load(folder, choice))


def _load(folder: ModelFolder, choice: Choice) -> Generator:
    from convqa.models.engines.torch.transformers import load_writer

    model, tokenizer = load_writer(folder, choice.device, choice.precision)
    told = getattr(model.config, "convqa", None)
    return Generator(
        folder.name, folder.checksum(), "seq2seq" if model.config.is_encoder_decoder else "causal",
        told if isinstance(told, Mapping) else {}, choice, model, tokenizer,
    )  # fmt: skip
