"""A small language model that writes the self-contained question: fine-tuned to go on from the prompt with it.

Any causal or sequence-to-sequence model of transformers; prompts are those of the rewriter ``generate`` in the format
``plain``. Only the rewrite's tokens count in the loss.
"""

from __future__ import annotations

import copy
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from convqa.components.history import fitted, said_before
from convqa.components.rewriters._prompts import plain
from convqa.components.rewriters._rewrites import first_line
from convqa.domain import Exchange, Turn, TurnId
from convqa.metrics.rouge1 import Rouge1, rouge1, tokens
from convqa.models import Generator
from convqa.models.folder import CARD
from convqa.models.types import Choice
from convqa.training.base import language_model
from convqa.training.card import card
from convqa.training.config import RewriterSettings
from convqa.training.data.rewrites import Example
from convqa.training.data.split import silenced
from convqa.training.loop import fit as learn
from convqa.training.tensors import padded
from convqa.training.train import Bench, Scores, gather, mixed, plan_of, summary

_IGNORED = -100
"""A label that does not count, in torch and transformers."""

_USE = """It writes the self-contained form of a question and its history. In a pipeline:
`rewriter: {type: generate, init_parameters: {model: ./FOLDER, longest_input: LONGEST}}`."""


class Row(NamedTuple):
    """Token ids of a prompt, and of the rewrite with the end behind it."""

    prompt: list[int]
    rewrite: list[int]


@dataclass(frozen=True, slots=True)
class Work:
    settings: RewriterSettings
    bench: Bench
    generator: Generator
    model: Any
    tokenizer: Any
    rows: list[Row]
    checks: Mapping[str, list[Example]]


def setup(settings: RewriterSettings, bench: Bench) -> Work:
    """Prompts and rewrites as tokens, and the model."""
    found = gather(settings, bench.data)
    model, tokenizer = language_model(settings.base, settings.gguf, bench.device)
    kind = "seq2seq" if model.config.is_encoder_decoder else "causal"
    runs = Choice("torch", bench.device, "float32")  # type: ignore[arg-type]
    generator = Generator(settings.base, "", kind, {"format": "plain"}, runs, model, tokenizer)  # type: ignore[arg-type]
    if settings.frozen:
        model.get_input_embeddings().requires_grad_(False)
    examples = silenced(mixed(settings, found), settings.silent, settings.seed)
    prompts = [prompt_of(example, generator, settings.longest) for example in examples]
    asked = tokenizer(prompts, verbose=False)["input_ids"]
    written = tokenizer([_start(kind) + one.rewrite for one in examples], add_special_tokens=False)["input_ids"]
    end = _end(model, tokenizer)
    rows = [Row(list(a), [*w[: settings.most_tokens - 1], end]) for a, w in zip(asked, written, strict=True)]
    checks = {"validation": found.validation, **found.reported}
    return Work(settings, bench, generator, model, tokenizer, rows, checks)


def fit(work: Work) -> None:
    """Lower the cross-entropy of the rewrites' tokens, per token."""
    seq2seq = work.generator.kind == "seq2seq"
    device = work.bench.device

    def loss(places: Sequence[int]) -> Tensor:
        rows = [work.rows[place] for place in places]
        with torch.autocast(device, torch.bfloat16, enabled=work.bench.precision == "bfloat16"):
            return _seq2seq_loss(work.model, rows, device) if seq2seq else _causal_loss(work.model, rows, device)

    lengths = [len(row.prompt) + len(row.rewrite) for row in work.rows]
    learn(work.model, lengths, loss, plan_of(work.settings), work.bench.folder, progress=work.bench.progress)


def validate(work: Work) -> Scores:
    """ROUGE-1 of what is written against the human rewrite, beside that of the question as it is.

    Of each set, so many turns drawn by chance as the settings say.
    """
    scores: Scores = {}
    for name, examples in work.checks.items():
        some = random.Random(7).sample(examples, min(work.settings.validated, len(examples)))
        prompts = [prompt_of(example, work.generator, work.settings.longest) for example in some]
        texts = work.generator.generate(prompts, work.settings.most_tokens)
        made = [first_line(text) or one.question for text, one in zip(texts, some, strict=True)]
        rewritten = [rouge1(one.rewrite, text) for one, text in zip(some, made, strict=True)]
        copied = [rouge1(one.rewrite, one.question) for one in some]
        scores[name] = {
            "turns": len(some),
            **_means("rewrite", rewritten),
            "rewrite tokens": sum(len(tokens(text)) for text in made) / len(made),
            **_means("question", copied),
        }
    return scores


def export(work: Work, scores: Scores, target: Path) -> None:
    """Write a folder of transformers, with a model card; config.json names the format of its prompts."""
    with tempfile.TemporaryDirectory(dir=target.parent) as aside:
        made = Path(aside) / "model"
        stored = copy.deepcopy(work.model).to("cpu", getattr(torch, work.settings.store))
        stored.config.convqa = dict(work.generator.settings)
        stored.save_pretrained(made)
        tokenizer = copy.deepcopy(work.tokenizer)
        tokenizer.chat_template = None  # it has forgotten how to chat
        tokenizer.save_pretrained(made)
        use = _USE.replace("LONGEST", str(work.settings.longest))
        (made / CARD).write_text(card("A rewriter", work.settings, summary(scores), use), encoding="utf-8")
        made.rename(target)


def prompt_of(example: Example, generator: Generator, longest: int) -> str:
    """The prompt that the rewriter ``generate`` makes of a turn, at most about ``longest`` tokens long."""
    exchanges = tuple(Exchange(said.question, said.answer) for said in example.history)
    said = said_before(Turn(TurnId(example.conversation, len(exchanges) + 1), example.question, exchanges))
    room = longest - generator.lengths([plain([], "")])[0]
    return plain(fitted(said, example.question, room, generator.lengths), example.question)


def _causal_loss(model: Any, rows: Sequence[Row], device: str) -> Tensor:
    ids = padded([row.prompt + row.rewrite for row in rows], 0, device)
    mask = padded([[1] * (len(row.prompt) + len(row.rewrite)) for row in rows], 0, device)
    labels = padded([[_IGNORED] * len(row.prompt) + row.rewrite for row in rows], _IGNORED, device)
    # What the model says of the shortest prompt's last token is the first that counts.
    kept = ids.shape[1] - min(len(row.prompt) for row in rows) + 1
    logits = model(input_ids=ids, attention_mask=mask, logits_to_keep=kept, use_cache=False).logits[:, -kept:-1]
    return functional.cross_entropy(
        logits.flatten(0, 1).float(), labels[:, 1 - kept :].flatten(), ignore_index=_IGNORED
    )


def _seq2seq_loss(model: Any, rows: Sequence[Row], device: str) -> Tensor:
    ids = padded([row.prompt for row in rows], 0, device)
    mask = padded([[1] * len(row.prompt) for row in rows], 0, device)
    labels = padded([row.rewrite for row in rows], _IGNORED, device)
    logits = model(input_ids=ids, attention_mask=mask, labels=labels, use_cache=False).logits
    return functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=_IGNORED)


def _start(kind: str) -> str:
    # Tokens of such models begin with their blank.
    return " " if kind == "causal" else ""


def _end(model: Any, tokenizer: Any) -> int:
    """The token at which generating stops."""
    ends = model.generation_config.eos_token_id
    ends = tokenizer.eos_token_id if ends is None else ends
    return int(ends[0] if isinstance(ends, list) else ends)


def _means(what: str, found: Sequence[Rouge1]) -> dict[str, float]:
    return {
        f"{what} ROUGE-1 R": sum(one.recall for one in found) / len(found),
        f"{what} ROUGE-1 F1": sum(one.f1 for one in found) / len(found),
    }
