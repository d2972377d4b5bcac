"""Loading and running neural models, once per process: on ONNX Runtime, or on torch (the extra ``models``).

What cannot be found, loaded, run or made as asked raises InputError, which says what to do.
"""

from __future__ import annotations

from convqa.models.kinds.conditions import Conditions, Settled, load_conditions
from convqa.models.kinds.encoder import TextEncoder, load_encoder
from convqa.models.kinds.generator import Generator, Written, load_generator
from convqa.models.kinds.pairs import PairScorer, load_pair_scorer
from convqa.models.kinds.reader import PairReading, SpanReader, load_reader
from convqa.models.kinds.resolver import Resolution, Resolver, load_resolver
from convqa.models.kinds.support import Support, load_support
from convqa.models.types import Options

__all__ = [
    "Conditions",
    "Generator",
    "Options",
    "PairReading",
    "PairScorer",
    "Resolution",
    "Resolver",
    "Settled",
    "SpanReader",
    "Support",
    "TextEncoder",
    "Written",
    "load_conditions",
    "load_encoder",
    "load_generator",
    "load_pair_scorer",
    "load_reader",
    "load_resolver",
    "load_support",
]
