"""Whether a model works, how fast it is, and how far two of them agree: on texts of the bundled example."""

from __future__ import annotations

import gzip
import itertools
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.models.engines.onnx import OnnxModel
from convqa.models.folder import Manifest, ModelFolder
from convqa.models.kinds.conditions import KIND as CONDITIONS
from convqa.models.kinds.conditions import load_conditions
from convqa.models.kinds.encoder import load_encoder
from convqa.models.kinds.generator import load_generator
from convqa.models.kinds.pairs import load_pair_scorer
from convqa.models.kinds.reader import HEADS, load_reader
from convqa.models.kinds.reader import KIND as READER
from convqa.models.kinds.resolver import KIND as RESOLVER
from convqa.models.kinds.resolver import Resolver, load_resolver
from convqa.models.kinds.resolver_input import Said
from convqa.models.kinds.support import KIND as SUPPORT
from convqa.models.kinds.support import load_support
from convqa.models.source import find_model
from convqa.models.tokens import load_tokenizer
from convqa.places import shipped

_PASSAGES = 32
_PROMPTS = 2
_WRITTEN = 16
"""Tokens that a generator is asked for."""


def check(name: str) -> dict[str, Any]:
    """Load a model, which verifies its checksums, and run it on a small sample.

    :return: what to print: name, kind, how it runs, its sizes and its speed.
    :raises InputError: if the model is missing, damaged or foreign.
    """
    folder = find_model(name)
    kind = kind_of(folder)
    found: dict[str, Any] = {"name": name, "kind": kind, "folder": str(folder.path)}
    if kind == "encoder":
        encoder = load_encoder(name)
        about = {"dimension": encoder.dimension, "max_tokens": encoder.max_tokens}
        return found | about | _run(encoder, encoder.encode, sample_passages())
    if kind == "pairs":
        scorer = load_pair_scorer(name)
        pairs = [(text[:60], text) for text in sample_passages()]
        return found | {"max_tokens": scorer.max_tokens} | _run(scorer, scorer.score, pairs)
    if kind == READER:
        reader = load_reader(name)
        asked = [("What is said of it?", text) for text in sample_passages()]
        return found | {"max_tokens": reader.max_tokens} | _run(reader, lambda some: reader.read(some, 1), asked)
    if kind == "generator":
        generator = load_generator(name)
        prompts = [text[:200] for text in sample_passages()[:_PROMPTS]]
        return found | _run(generator, lambda texts: generator.generate(texts, _WRITTEN), prompts)
    if kind == RESOLVER:
        resolver = load_resolver(name)
        turns = [("What else is said of it?", [Said(text[:60], text)]) for text in sample_passages()]
        about = {"max_tokens": resolver.max_tokens}
        return found | about | _run(resolver, lambda some: _resolve(resolver, some), turns)
    if kind == SUPPORT:
        support = load_support(name)
        said = [(text, text[:60]) for text in sample_passages()]
        return found | _run(support, support.score, said)
    if kind == CONDITIONS:
        conditions = load_conditions(name)
        asked = [(text, f"Is it {text[:60]}?") for text in sample_passages()]
        return found | _run(conditions, conditions.judge, asked)
    raise InputError(f"{folder.path} holds a model of kind {kind!r}, which this version of convqa does not run.")


def compare(name: str, other: str) -> str:
    """How far two graphs of one model agree on the example's passages, in words.

    For an encoder the cosines of its vectors; for others, by output, the cosine over all numbers of the sample.
    """
    texts = sample_passages()
    folders = [find_model(one) for one in (name, other)]
    made = [_outputs(folder, folder.manifest, texts) for folder in folders if folder.manifest is not None]
    parts = []
    for output in made[0]:
        one, two = ([row.ravel().astype(np.float64) for row in outputs[output]] for outputs in made)
        if output == "vectors":
            cosines = [_cosine(*rows) for rows in zip(one, two, strict=True)]
            parts.append(f"cosine of vectors: mean {np.mean(cosines):.4f}, least {min(cosines):.4f}")
        else:
            parts.append(f"cosine of {output}: {_cosine(np.concatenate(one), np.concatenate(two)):.4f}")
    return f"{'; '.join(parts)} ({len(texts)} passages)"


def kind_of(folder: ModelFolder) -> str:
    """encoder, pairs, reader, generator, support, or the kind that a manifest names.

    :raises InputError: if the folder's configuration cannot be read.
    """
    if folder.manifest is not None:
        return folder.manifest.kind
    from convqa.models.engines.torch.entailment import entailing
    from convqa.models.engines.torch.runtime import load_config

    config = load_config(folder)
    heads = config.architectures or []
    if any(head.endswith(HEADS) for head in heads):
        return READER
    if config.is_encoder_decoder or any(head.endswith(("CausalLM", "LMHeadModel")) for head in heads):
        return "generator"
    if not any(head.endswith("ForSequenceClassification") for head in heads):
        return "encoder"
    return SUPPORT if entailing(config) is not None else "pairs"


def sample_passages() -> list[str]:
    """The first passages of the bundled example."""
    with gzip.open(shipped("examples", "qrecc-trec", "passages.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in itertools.islice(lines, _PASSAGES)]


def _run(model: Any, work: Callable[[Any], Any], sample: Sequence[Any]) -> dict[str, Any]:
    work(sample[:1])
    start = time.perf_counter()
    work(sample)
    speed = len(sample) / (time.perf_counter() - start)
    runs = {"runs": str(model.runs)} if hasattr(model, "runs") else {}
    return {"checksum": model.checksum, **runs, "speed": f"{speed:.1f} texts/s ({len(sample)} texts)"}


def _resolve(resolver: Resolver, turns: Sequence[tuple[str, Sequence[Said]]]) -> list[str]:
    return [found.text() for found in resolver.resolve(turns)]


def _outputs(folder: ModelFolder, manifest: Manifest, texts: Sequence[str]) -> dict[str, list[NDArray[Any]]]:
    model = OnnxModel(folder.path)
    rows = model.run_tokens(load_tokenizer(folder.path, manifest.max_tokens).texts(texts))
    return {name: [row[place] for row in rows] for place, name in enumerate(model.outputs)}


def _cosine(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    return float(np.dot(one, two)) / max(float(np.linalg.norm(one)) * float(np.linalg.norm(two)), 1e-12)
