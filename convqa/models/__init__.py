"""Load and run neural models, once per process, on ONNX Runtime or on torch (the extra ``models``).

A model that cannot be found, loaded, run or exported raises InputError.
"""

from __future__ import annotations

from convqa.models.kinds.encoder import TextEncoder, load_encoder
from convqa.models.kinds.generator import GeneratedText, Generator, load_generator
from convqa.models.kinds.pairs import PairScorer, load_pair_scorer
from convqa.models.kinds.reader import PairReading, SpanReader, load_reader
from convqa.models.kinds.resolver import Resolution, Resolver, load_resolver
from convqa.models.kinds.support import Support, load_support
from convqa.models.types import Options

__all__ = [
    "GeneratedText",
    "Generator",
    "Options",
    "PairReading",
    "PairScorer",
    "Resolution",
    "Resolver",
    "SpanReader",
    "Support",
    "TextEncoder",
    "load_encoder",
    "load_generator",
    "load_pair_scorer",
    "load_reader",
    "load_resolver",
    "load_support",
]
