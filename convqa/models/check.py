"""Check a model, measure its speed and compare two models, on texts of the bundled example."""

from __future__ import annotations

import gzip
import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from convqa.errors import InputError
from convqa.models.engines import choose, onnx
from convqa.models.folder import ModelFolder
from convqa.models.kinds.encoder import load_encoder
from convqa.models.kinds.generator import load_generator
from convqa.models.kinds.pairs import load_pair_scorer
from convqa.models.kinds.reader import load_reader
from convqa.models.kinds.resolver import Resolver, load_resolver
from convqa.models.kinds.resolver_input import Past
from convqa.models.kinds.support import load_support
from convqa.models.source import find_model
from convqa.models.types import OUTPUTS, Device, Model, Options, Precision
from convqa.places import shipped
from convqa.plugins import load, plugins

_PASSAGES = 32
_WRITTEN = 16
"""Tokens that a generator writes."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """How to check a kind of model. ``run`` takes the model and texts; ``about`` are attributes to print."""

    load: Callable[[str, Options], Model]
    run: Callable[[Any, Sequence[str]], object]
    about: tuple[str, ...] = ()
    unit: str = "texts"
    most: int | None = None


KINDS: Mapping[str, _Kind] = {
    "encoder": _Kind(load_encoder, lambda model, texts: model.encode(texts), ("dimension", "max_tokens"), "passages"),
    "sparse": _Kind(partial(load_encoder, sparse=True), lambda model, texts: model.encode(texts), unit="passages"),
    "pairs": _Kind(
        load_pair_scorer, lambda model, texts: model.score([(text[:60], text) for text in texts]), ("max_tokens",),
        "pairs",
    ),
    "reader": _Kind(
        load_reader, lambda model, texts: model.read([("What is said of it?", text) for text in texts], 1),
        ("max_tokens",), "passages",
    ),
    "generator": _Kind(
        load_generator, lambda model, texts: model.write([text[:200] for text in texts], _WRITTEN),
        unit=f"texts of {_WRITTEN} tokens", most=2,
    ),
    "resolver": _Kind(load_resolver, lambda model, texts: _resolved(model, texts), ("max_tokens",), "turns"),
    "support": _Kind(load_support, lambda model, texts: model.score([(text, text[:60]) for text in texts])),
}  # fmt: skip
"""The kinds of models that convqa runs."""

GROUP = "convqa.models"
"""The entry point group of other kinds: kind = function that loads a model, which has a method ``try_texts``."""


def check(name: str, options: Options = Options()) -> dict[str, Any]:  # noqa: B008 - frozen
    """Load a model, which verifies its checksums, run it on a small sample and return a report to print."""
    folder = find_model(name)
    kind, tried = _kind(folder)
    model = tried.load(name, options)
    texts = sample_passages()[: tried.most]
    about = {field: getattr(model, field) for field in tried.about}
    return {
        "name": name, "kind": kind, "folder": str(folder.path), **about, "checksum": model.checksum,
        "runs": str(model.runs), "speed": f"{_speed(tried, model, texts, 1):.1f} texts/s ({len(texts)} texts)",
    }  # fmt: skip


def speeds(name: str, options: Options = Options()) -> list[dict[str, Any]]:  # noqa: B008 - frozen
    """Measure every device and precision that a model can run in here, fastest first: the best of three rounds.

    :param options: restrict what is measured.
    :return: per measurement ``device``, ``precision``, ``runs``, ``rate`` (per second) and ``unit``.
    """
    _, tried = _kind(find_model(name))
    texts = sample_passages()[: tried.most]
    rows: dict[str, dict[str, Any]] = {}
    for device, precision in itertools.product(get_args(Device)[1:], get_args(Precision)[1:]):
        if {options.device, device} - {"auto"} != {device} or {options.precision, precision} - {"auto"} != {precision}:
            continue
        try:
            model = tried.load(name, Options(device, precision))
        except InputError:
            continue  # unavailable here, or for this model
        if str(model.runs) not in rows:
            rows[str(model.runs)] = {
                "device": device, "precision": precision, "runs": str(model.runs),
                "rate": round(_speed(tried, model, texts, 3), 1), "unit": tried.unit,
            }  # fmt: skip
    return sorted(rows.values(), key=lambda row: -float(row["rate"]))


def _kind(folder: ModelFolder) -> tuple[str, _Kind]:
    kind = kind_of(folder)
    if kind in plugins(GROUP):
        return kind, _Kind(load(plugins(GROUP)[kind]), lambda model, texts: model.try_texts(texts))
    if kind not in KINDS:
        raise InputError(f"{folder.path} holds a model of kind {kind!r}, which this version of convqa does not run.")
    return kind, KINDS[kind]


def _speed(tried: _Kind, model: Model, texts: Sequence[str], rounds: int) -> float:
    """Return texts per second in the best of some rounds."""
    tried.run(model, texts[:1])
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        tried.run(model, texts)
        seconds.append(time.perf_counter() - start)
    return len(texts) / min(seconds)


def compare(name: str, other: str) -> str:
    """Describe how far two graphs of one model agree on the example's passages.

    For an encoder: the cosines of its vectors. For others: per output, the cosine over the whole sample.
    """
    texts = sample_passages()
    first, second = (_outputs(find_model(model), texts) for model in (name, other))
    parts = []
    for output, rows in first.items():
        if output == "vectors":
            cosines = [_cosine(*pair) for pair in zip(rows, second[output], strict=True)]
            parts.append(f"cosine of vectors: mean {np.mean(cosines):.4f}, least {min(cosines):.4f}")
        else:
            parts.append(f"cosine of {output}: {_cosine(np.concatenate(rows), np.concatenate(second[output])):.4f}")
    return f"{'; '.join(parts)} ({len(texts)} passages)"


def kind_of(folder: ModelFolder) -> str:
    """Return the kind of the model in a folder, from its manifest or from transformers' configuration."""
    if folder.manifest is not None:
        return folder.manifest.kind
    from convqa.models.engines.torch import networks

    return networks.kind_of(folder)


def sample_passages() -> list[str]:
    """Return the first passages of the bundled example."""
    with gzip.open(shipped("examples", "qrecc-trec", "passages.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in itertools.islice(lines, _PASSAGES)]


def _resolved(resolver: Resolver, texts: Sequence[str]) -> list[str]:
    turns = [("What else is said of it?", [Past(text[:60], text)]) for text in texts]
    return [resolution.text() for resolution in resolver.resolve(turns)]


def _outputs(folder: ModelFolder, texts: Sequence[str]) -> dict[str, list[NDArray[Any]]]:
    assert folder.manifest is not None
    kind = folder.manifest.kind
    network = onnx.load(folder, choose(folder, Options("cpu")), kind)
    rows = network.run(network.tokenizer.texts(texts))
    return {name: [row[index].ravel().astype(np.float64) for row in rows] for index, name in enumerate(OUTPUTS[kind])}


def _cosine(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(np.dot(first, second)) / max(float(np.linalg.norm(first)) * float(np.linalg.norm(second)), 1e-12)
