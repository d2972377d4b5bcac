"""A small language model that writes the self-contained question: fine-tuned to go on from the prompt with it.

Any causal or sequence-to-sequence model of transformers; prompts are those of the rewriter ``generate`` in the format
``plain``. Only the rewrite's tokens count in the loss.
"""

from __future__ import annotations

import copy
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from convqa.components.history import fitted, said_before
from convqa.components.rewriters._prompts import plain
from convqa.components.rewriters._rewrites import first_line
from convqa.domain import Exchange, Turn, TurnId
from convqa.errors import InputError, reason_of
from convqa.metrics.rouge1 import tokens
from convqa.models import Generator
from convqa.models.engines.torch.transformers import load_writer
from convqa.models.folder import CARD
from convqa.models.types import Choice
from convqa.training.card import card
from convqa.training.config import RewriterSettings
from convqa.training.data.rewrites import Example, gather, mean_rouge
from convqa.training.loop import fit, mask_of, padded
from convqa.training.train import Bench, Recipe, Scores, summary, trainable

_IGNORED = -100
"""A label that does not count, in torch and transformers."""

_USE = """It writes the self-contained form of a question and its history. In a pipeline:
`rewriter: {type: generate, init_parameters: {model: ./FOLDER, longest_input: LONGEST}}`."""


class Row(NamedTuple):
    """Token ids of a prompt, and of the rewrite with the end behind it."""

    prompt: list[int]
    rewrite: list[int]


class Training(Recipe):
    """Prompts and rewrites as tokens, and the model; ``checks``: sets that are validated on."""

    settings: RewriterSettings

    def __init__(self, settings: RewriterSettings, bench: Bench) -> None:
        super().__init__(settings, bench)
        examples, self.checks = gather(settings, bench.data)
        self.model, self.tokenizer = _base(settings.base, settings.gguf, bench.device)
        kind = "seq2seq" if self.model.config.is_encoder_decoder else "causal"
        runs = Choice("torch", bench.device, "float32")  # type: ignore[arg-type]
        self.generator = Generator(settings.base, "", kind, {"format": "plain"}, runs, self.model, self.tokenizer)  # type: ignore[arg-type]
        if settings.frozen:
            self.model.get_input_embeddings().requires_grad_(False)
        prompts = [prompt_of(example, self.generator, settings.longest) for example in examples]
        asked = self.tokenizer(prompts, verbose=False)["input_ids"]
        # A causal model's tokens begin with their blank.
        start = " " if kind == "causal" else ""
        written = self.tokenizer([start + one.rewrite for one in examples], add_special_tokens=False)["input_ids"]
        end = _end(self.model, self.tokenizer)
        most = settings.most_tokens - 1
        self.rows = [Row(list(a), [*w[:most], end]) for a, w in zip(asked, written, strict=True)]

    def fit(self) -> None:
        """Lower the cross-entropy of the rewrites' tokens, per token."""
        device = self.bench.device
        loss_of = _seq2seq_loss if self.generator.kind == "seq2seq" else _causal_loss

        def loss(places: Sequence[int]) -> Tensor:
            with torch.autocast(device, torch.bfloat16, enabled=self.bench.precision == "bfloat16"):
                return loss_of(self.model, [self.rows[place] for place in places], device)

        lengths = [len(row.prompt) + len(row.rewrite) for row in self.rows]
        fit(self.model, lengths, loss, self.settings, self.bench)

    def validate(self) -> Scores:
        """ROUGE-1 of what is written against the human rewrite, beside that of the question as it is.

        Of each set, so many turns drawn by chance as the settings say.
        """
        scores: Scores = {}
        for name, examples in self.checks.items():
            some = random.Random(7).sample(examples, min(self.settings.validated, len(examples)))
            prompts = [prompt_of(example, self.generator, self.settings.longest) for example in some]
            texts = self.generator.generate(prompts, self.settings.most_tokens)
            made = [first_line(text) or one.question for text, one in zip(texts, some, strict=True)]
            recall, f1 = mean_rouge(some, made)
            copy_recall, copy_f1 = mean_rouge(some, [one.question for one in some])
            scores[name] = {
                "turns": len(some),
                "rewrite ROUGE-1 R": recall,
                "rewrite ROUGE-1 F1": f1,
                "rewrite tokens": sum(len(tokens(text)) for text in made) / len(made),
                "question ROUGE-1 R": copy_recall,
                "question ROUGE-1 F1": copy_f1,
            }
        return scores

    def export(self, scores: Scores, target: Path) -> None:
        """Write a folder of transformers, with a model card; config.json names the format of its prompts."""
        with tempfile.TemporaryDirectory(dir=target.parent) as aside:
            made = Path(aside) / "model"
            stored = copy.deepcopy(self.model).to("cpu", getattr(torch, self.settings.store))
            stored.config.convqa = dict(self.generator.settings)
            stored.save_pretrained(made)
            tokenizer = copy.deepcopy(self.tokenizer)
            tokenizer.chat_template = None  # it has forgotten how to chat
            tokenizer.save_pretrained(made)
            use = _USE.replace("LONGEST", str(self.settings.longest))
            (made / CARD).write_text(card("A rewriter", self.settings, summary(scores), use), encoding="utf-8")
            made.rename(target)


def _base(base: str, gguf: str | None, device: str) -> tuple[Any, Any]:
    """A causal or sequence-to-sequence model in float32, and its tokenizer.

    :param base: a folder or a Hugging Face name. :param gguf: the file in the folder that holds model and tokenizer.
    """
    if gguf is None:
        return load_writer(trainable(base), device, "float32")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = Path(base).expanduser()
    if not (folder / gguf).is_file():
        raise InputError(f"{folder / gguf}: no such file; wanted a model in the format GGUF.")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=gguf, local_files_only=True)
        read = AutoModelForCausalLM.from_pretrained(folder, gguf_file=gguf, local_files_only=True, dtype=torch.float32)
    except ImportError as error:
        raise InputError(
            f"reading {gguf} needs more packages: pip install gguf accelerate ({error.name or error})."
        ) from error
    except Exception as error:  # whatever the libraries raise on damaged files
        raise InputError(f"{folder / gguf}: the model cannot be loaded ({reason_of(error)}).") from error
    # A model that came out of a GGUF refuses to be saved; one with the same weights and no past does not.
    if hasattr(read.config, "quantization_config"):
        del read.config.quantization_config
    model: Any = type(read)(read.config)
    model.load_state_dict(read.state_dict())
    model.generation_config = read.generation_config
    return model.to(device).eval(), tokenizer


def prompt_of(example: Example, generator: Generator, longest: int) -> str:
    """The prompt that the rewriter ``generate`` makes of a turn, at most about ``longest`` tokens long."""
    exchanges = tuple(Exchange(said.question, said.answer) for said in example.history)
    said = said_before(Turn(TurnId(example.conversation, len(exchanges) + 1), example.question, exchanges))
    room = longest - generator.lengths([plain([], "")])[0]
    return plain(fitted(said, example.question, room, generator.lengths), example.question)


def _causal_loss(model: Any, rows: Sequence[Row], device: str) -> Tensor:
    ids = padded([row.prompt + row.rewrite for row in rows], 0, device)
    mask = mask_of([row.prompt + row.rewrite for row in rows], device)
    labels = padded([[_IGNORED] * len(row.prompt) + row.rewrite for row in rows], _IGNORED, device)
    # What the model says of the shortest prompt's last token is the first that counts.
    kept = ids.shape[1] - min(len(row.prompt) for row in rows) + 1
    logits = model(input_ids=ids, attention_mask=mask, logits_to_keep=kept, use_cache=False).logits[:, -kept:-1]
    return functional.cross_entropy(
        logits.flatten(0, 1).float(), labels[:, 1 - kept :].flatten(), ignore_index=_IGNORED
    )


def _seq2seq_loss(model: Any, rows: Sequence[Row], device: str) -> Tensor:
    ids = padded([row.prompt for row in rows], 0, device)
    mask = mask_of([row.prompt for row in rows], device)
    labels = padded([row.rewrite for row in rows], _IGNORED, device)
    logits = model(input_ids=ids, attention_mask=mask, labels=labels, use_cache=False).logits
    return functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=_IGNORED)


def _end(model: Any, tokenizer: Any) -> int:
    """The token at which generating stops."""
    ends = model.generation_config.eos_token_id
    ends = tokenizer.eos_token_id if ends is None else ends
    return int(ends[0] if isinstance(ends, list) else ends)
