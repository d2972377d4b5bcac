"""The two optional measures that need models: SAS (a cross-encoder) and POSSCORE (a tagger and word vectors).

They are official only with the official model; otherwise their name contains the model, and they are not written to
official files.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from string import punctuation

import numpy

from convqa.errors import InputError
from convqa.metrics import posscore as formula
from convqa.metrics.posscore import Tagged, Vector, lookups
from convqa.models import Options, load_pair_scorer
from convqa.tasks.scores import AnswerScorer

OFFICIAL_SAS = "cross-encoder/stsb-roberta-large"
OFFICIAL_VECTORS = frozenset({"fasttext-wiki-news-subwords-300", "wiki-news-300d-1M-subword"})
TAGGER = "en_core_web_sm"

Tagger = Callable[[str], Tagged]


def sas(model: str = OFFICIAL_SAS) -> AnswerScorer:
    """Semantic answer similarity (Risch et al., MRQA 2021): a cross-encoder's similarity of answer and truth.

    The score is the sigmoid of the model's output, as in sentence-transformers.

    :raises InputError: if the extra ``models`` or the model is missing.
    """
    scorer = load_pair_scorer(model, Options("cpu", "float32"))

    def score(pairs: Sequence[tuple[str, str]]) -> list[float]:
        # sentence-transformers strips the texts, too.
        stripped = [(answer.strip(), truth.strip()) for truth, answer in pairs]
        outputs = scorer.score(stripped).astype(numpy.float64)
        scores: list[float] = (1 / (1 + numpy.exp(-outputs))).tolist()
        return scores

    official = model == OFFICIAL_SAS
    return AnswerScorer("SAS" if official else f"SAS({model})", score, official)


def posscore(vectors: Path, tagger: Tagger | None = None) -> AnswerScorer:
    """POSSCORE with word vectors in fastText's text format (.vec, plain or gzip).

    :param tagger: text -> (word, tag) pairs; None: spaCy's en_core_web_sm, as in the package posscore.
    :raises InputError: if the vectors, spaCy, its model or nltk are missing.
    """
    if not vectors.is_file():
        raise InputError(f"POSSCORE: {vectors}: no such file; expected word vectors in fastText's text format (.vec).")
    tag = tagger or _official_tagger()

    def score(pairs: Sequence[tuple[str, str]]) -> list[float]:
        tagged = [(tag(truth), tag(answer)) for truth, answer in pairs]
        words = [word for pair in tagged for text in pair for word, _ in text]
        table = read_vectors(vectors, set(lookups(words)))
        return [formula.posscore(truth, answer, table) for truth, answer in tagged]

    official = tagger is None and vectors.name.split(".")[0] in OFFICIAL_VECTORS
    return AnswerScorer(
        "POSSCORE" if official else f"POSSCORE({vectors.name})",
        score,
        official,
    )


def read_vectors(path: Path, words: Collection[str]) -> dict[str, Vector]:
    """Read the vectors of some words. A line is a word and its numbers; the first may be a line of counts."""
    vectors: dict[str, Vector] = {}
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            word, _, rest = line.rstrip().partition(" ")
            if word in words and not (number == 1 and rest.isdigit()):
                vectors[word] = numpy.array(rest.split(), dtype=numpy.float32)
    return vectors


def _official_tagger() -> Tagger:
    install = f"pip install spacy nltk && python -m spacy download {TAGGER}"
    try:
        import spacy
        from nltk.tokenize import TweetTokenizer
    except ImportError as error:
        raise InputError(f"POSSCORE needs {error.name}, which is not installed. Run: {install}") from None
    try:
        pipeline = spacy.load(TAGGER)
    except OSError:
        raise InputError(f"POSSCORE: spaCy's model {TAGGER} is missing. Run: {install}") from None
    tweets = TweetTokenizer(preserve_case=False)
    return lambda text: [(token.text, token.pos_) for token in pipeline(_cleaned(text, tweets.tokenize))]


def _cleaned(text: str, tokenize: Callable[[str], list[str]]) -> str:
    """Clean a text as the package posscore does: plain ASCII words, split contractions, no punctuation.

    >>> _cleaned("I can't see http://x.y it's 5%", str.split), _cleaned("see [the page] ( http://x.y )", str.split)
    ('i can nt see url it s 5', 'see the page')
    """
    words = [
        f"{word[: word.find('http')]} __url__".strip() if "http" in word else word for word in text.lower().split()
    ]
    unlinked = re.sub(r"\[([^\]]*)\] \( *__url__ *\)", r"\1", " ".join(words))
    plain = re.sub(r"[^A-Za-z0-9():,.!?\"']", " ", unlinked.replace("__url__", "URL")).replace("URL", "__url__")
    spaced = f" {' '.join(tokenize(plain))} "
    spaced = spaced.replace(" won't ", " will n't ").replace(" can't ", " can n't ")
    for ending in ("'s", "'m", "'re", "n't", "'ll", "'ve", "'d", "'em"):
        spaced = spaced.replace(f"{ending} ", f" {ending} ")
    # The blanks around deleted characters stay: spaCy turns them into tokens, which count as other words.
    return " ".join(spaced.split()).translate(str.maketrans("", "", punctuation))
