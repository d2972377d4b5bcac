"""Check a model on texts of the bundled example."""

from __future__ import annotations

import gzip
import itertools
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from convqa.errors import InputError
from convqa.models.engines import kind_of
from convqa.models.kinds.encoder import load_encoder
from convqa.models.kinds.generator import Generator, load_generator
from convqa.models.kinds.pairs import load_pair_scorer
from convqa.models.kinds.reader import load_reader
from convqa.models.kinds.resolver import load_resolver
from convqa.models.kinds.support import load_support
from convqa.models.source import find_model
from convqa.models.types import Model, Options
from convqa.places import shipped
from convqa.plugins import load as load_plugin
from convqa.plugins import plugins

_SAMPLE_PASSAGES = 32
_GENERATED_PASSAGES = 2

KINDS: Mapping[str, Callable[[str, Options], Model]] = {
    "encoder": load_encoder,
    "pairs": load_pair_scorer,
    "reader": load_reader,
    "generator": load_generator,
    "resolver": load_resolver,
    "support": load_support,
}
"""The kinds of models that convqa runs, with the functions that load them."""


GROUP = "convqa.models"
"""The entry point group of other kinds: kind = function that loads a model, which has a method ``try_texts``."""


def check(name: str, options: Options = Options()) -> dict[str, Any]:  # noqa: B008 - frozen
    """Load a model, which verifies its checksums, run it on a small sample and return a report to print."""
    folder = find_model(name)
    kind = kind_of(folder)
    point = plugins(GROUP).get(kind)
    load_kind = load_plugin(point) if point else KINDS.get(kind)
    if load_kind is None:
        raise InputError(f"{folder.path} holds a model of kind {kind!r}, which this version of convqa does not run.")
    model = load_kind(name, options)
    texts = sample_passages()
    if isinstance(model, Generator):
        texts = texts[:_GENERATED_PASSAGES]
    model.try_texts(texts[:1])
    start = time.perf_counter()
    model.try_texts(texts)
    rate = len(texts) / (time.perf_counter() - start)
    report = {
        "name": name,
        "kind": kind,
        "folder": str(folder.path),
        "dimension": getattr(model, "dimension", None),
        "max_tokens": getattr(model, "max_tokens", None),
        "checksum": model.checksum,
        "runs": str(model.runs),
        "speed": f"{rate:.1f} texts/s ({len(texts)} texts)",
    }
    return {field: value for field, value in report.items() if value is not None}


def sample_passages() -> list[str]:
    """Return the first passages of the bundled example."""
    file = shipped("examples", "qrecc-trec", "passages.jsonl.gz")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in itertools.islice(lines, _SAMPLE_PASSAGES)]
