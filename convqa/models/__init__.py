"""Load and run neural models, once per process, on ONNX Runtime or on torch (the extra ``models``).

A model that cannot be found, loaded, run or exported raises InputError.
"""

from __future__ import annotations

from convqa.models.kinds.encoder import TextEncoder as TextEncoder
from convqa.models.kinds.encoder import load_encoder as load_encoder
from convqa.models.kinds.generator import GeneratedText as GeneratedText
from convqa.models.kinds.generator import Generator as Generator
from convqa.models.kinds.generator import load_generator as load_generator
from convqa.models.kinds.pairs import PairScorer as PairScorer
from convqa.models.kinds.pairs import load_pair_scorer as load_pair_scorer
from convqa.models.kinds.reader import PairReading as PairReading
from convqa.models.kinds.reader import SpanReader as SpanReader
from convqa.models.kinds.reader import load_reader as load_reader
from convqa.models.kinds.resolver import Resolution as Resolution
from convqa.models.kinds.resolver import Resolver as Resolver
from convqa.models.kinds.resolver import load_resolver as load_resolver
from convqa.models.kinds.support import Support as Support
from convqa.models.kinds.support import load_support as load_support
from convqa.models.types import Options as Options
