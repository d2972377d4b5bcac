"""Generates any number of passages from real sentences, and questions about them: for timing, never for quality.

English passages are the 27,065 real ones of lucene_equality.py, then their sentences combined to real lengths. Words of
at most three passages get new names, so that the rare tail of the vocabulary keeps its shape. Polish passages imitate
PolEval's: sentences of poquad-sample (paragraphs and summaries) combined to their lengths. Words of at most three texts
are replaced: some by words of PolEval's own questions, by Zipf's law, so that the questions have matches; the others by
new forms of themselves, by a power law, so that the vocabulary keeps growing.
"""

from __future__ import annotations

import random
import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from lucene_equality import queries, union
from poleval_standin import articles

from convqa.text.sentences import sentences
from convqa.text.words import words

RARE = 3
ASKED = 0.3
"""Share of rare Polish words that a word of a question replaces."""
TAIL = 0.8
"""New forms of a Polish word: the share above the n-th is n ** -TAIL."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"\w+")
_LETTERS = "bcdfghklmnprstwz"
_SETS = ("cast2020", "clapnq_dev", "inscit_dev", "or_sharc_dev")
_FOLDERS = ("train", "dev-0", "test-A", "test-B")


def passages(data: Path, language: str, count: int) -> Iterator[dict[str, str]]:
    """Yield records of ``count`` passages; the first ones are the same for every count."""
    return english(data, count) if language == "en" else polish(data, count)


def english(data: Path, count: int) -> Iterator[dict[str, str]]:
    real = list(union(data))
    for passage in real[:count]:
        yield passage.to_json()
    chance = random.Random(7)
    parts = [sentence for passage in real for sentence in _SENTENCE.split(passage.text)]
    lengths = [len(passage.text.split()) for passage in real]
    df = Counter(word for passage in real for word in set(_WORD.findall(passage.text.lower())))
    rare = {word for word, held in df.items() if held <= RARE}
    uses: Counter[str] = Counter()

    def renamed(match: re.Match[str]) -> str:
        word = match[0].lower()
        if word not in rare:
            return match[0]
        uses[word] += 1
        return f"{match[0]}x{uses[word] // df[word]}"

    for number in range(len(real), count):
        length, chosen, size = chance.choice(lengths), [], 0
        while size < length:
            chosen.append(chance.choice(parts))
            size += chosen[-1].count(" ") + 1
        title = chance.choice(real).title
        yield {"id": f"synthetic/{number}", "title": title, "text": _WORD.sub(renamed, " ".join(chosen)) or "empty"}


def polish(data: Path, count: int) -> Iterator[dict[str, str]]:
    texts = [passage for article in articles(data) for passage in article.passages]
    lengths, titles = [len(passage.text.split()) for passage in texts], [passage.title for passage in texts]
    df = Counter(word for passage in texts for word in set(words(passage.text)))
    cut = [passage.text[start:end].split() for passage in texts for start, end in sentences(passage.text, "pl")]
    # Each with the positions of its rare words.
    whole = [(one, [at for at, word in enumerate(one) if 0 < df[_bare(word)] <= RARE]) for one in cut]
    asked = [word for word, _ in Counter(w for _, text in _poleval(data, _FOLDERS) for w in words(text)).most_common()]
    zipf, chance = list(accumulate(1 / rank for rank in range(1, len(asked) + 1))), random.Random(7)
    for number in range(count):
        length = chance.choice(lengths)
        parts: list[str] = []
        while len(parts) < length:
            sentence, rare = chance.choice(whole)
            start = len(parts)
            parts += sentence
            for at in rare:
                if chance.random() < ASKED:
                    parts[start + at] = asked[bisect(zipf, chance.random() * zipf[-1], 0, len(asked) - 1)]
                else:
                    parts[start + at] += _ending(int(chance.paretovariate(TAIL)) - 1)
        yield {"id": str(number), "title": chance.choice(titles), "text": " ".join(parts)}


def _bare(word: str) -> str:
    return word.strip('.,;:()\u201e\u201d"').lower()


def _ending(number: int) -> str:
    """Return an ending: "" for 0, else the digits as letters after an x."""
    letters = ""
    while number:
        number, digit = divmod(number, len(_LETTERS))
        letters += _LETTERS[digit]
    return f"x{letters}" if letters else ""


def _poleval(data: Path, folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield PolEval's questions: set and text."""
    for folder in folders:
        for line in (data / "poleval2022" / folder / "in.tsv").read_text(encoding="utf-8").splitlines():
            domain, text = line.strip().split("\t", 1)
            yield domain, text


def questions(data: Path, language: str, count: int | None) -> list[str]:
    """Return this many questions (None: all); the Polish ones are those about trivia of both test sets."""
    if language == "pl":
        return [text for domain, text in _poleval(data, _FOLDERS[2:]) if domain == "wiki-trivia"][:count]
    texts = [text for name in _SETS for text in queries(data, name)[0].values()]
    return random.Random(3).sample(texts, min(count or len(texts), len(texts)))
