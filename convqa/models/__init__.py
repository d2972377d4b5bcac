"""Loading and running neural models, once per process: on ONNX Runtime, or on torch (the extra ``models``)."""

from __future__ import annotations

from convqa.models.conditions import Conditions, Told, load_conditions
from convqa.models.encoder import TextEncoder, load_encoder
from convqa.models.generator import Generator, Written, load_generator
from convqa.models.options import Options
from convqa.models.pairs import PairScorer, load_pair_scorer
from convqa.models.reader import PairReading, SpanReader, load_reader
from convqa.models.resolver import Resolution, Resolver, load_resolver
from convqa.models.support import Support, load_support

__all__ = [
    "Conditions",
    "Generator",
    "Options",
    "PairReading",
    "PairScorer",
    "Resolution",
    "Resolver",
    "SpanReader",
    "Support",
    "TextEncoder",
    "Told",
    "Written",
    "load_conditions",
    "load_encoder",
    "load_generator",
    "load_pair_scorer",
    "load_reader",
    "load_resolver",
    "load_support",
]
