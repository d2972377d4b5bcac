"""Which analysis of Polish and which pipeline is best? A stand-in for PolEval 2022 from poquad-sample.

    python benchmarks/poleval_standin.py --work FOLDER [--data ../shared/data] [--multilingual NAME] [--only analyses]

Prints tables. The task's passages are not available, so poquad-sample (481 articles of the Polish Wikipedia, one
paragraph each) is converted to the task's format. A passage is a paragraph, or the article's summary, with the
article's title. A question is one with an answer, and its paragraph is relevant. The 466 questions without an answer
are left out, because pairs cannot express that nothing is relevant. Summaries serve as distractors: for 113 of the
1,911 questions they contain the answer too, and still count as wrong. Even articles are for choosing, odd ones for
reporting. One collection holds the 962 passages of both halves instead of millions, so figures are far above the
task's.

Analyses are compared in this process, by the BM25 of every store; pipelines by the command line. ``--multilingual`` is
the name or folder of a multilingual encoder (recipes/multilingual.py makes one).
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np
import Stemmer
from _common import arguments, convqa, lines, table
from comparing import difference, estimate

from convqa.domain import Passage
from convqa.metrics.ranking import geval_ndcg
from convqa.text.analysis import analyzer
from convqa.text.bm25 import bm25
from convqa.text.polish import Morfeusz, plain
from convqa.text.words import words

FILE = "squad-format/poquad-sample.json"
HALVES = ("even", "odd")
DEPTH = 10
CHOSEN_K1, CHOSEN_B = 0.6, 0.55
CHOSEN = {"k1": CHOSEN_K1, "b": CHOSEN_B, "stopwords": "long"}
"""Of BM25, by the even half."""
K1S, BS = (0.4, 0.6, 0.82, 1.0, 1.2), (0.4, 0.55, 0.68, 0.8, 0.9)
TITLES = (0.0, 1.0)
FUSIONS = (("rrf", 1.0), *(("interpolation", weight) for weight in (0.25, 0.5, 1.5)))

Cut = Callable[[str], list[str]]


class Asked(NamedTuple):
    text: str
    paragraph: str


@dataclass(frozen=True)
class Article:
    """``passages``: its paragraphs, then its summary; a question's ``paragraph`` is the id of one."""

    half: str
    passages: tuple[Passage, ...]
    asked: tuple[Asked, ...]


def articles(data: Path) -> Iterator[Article]:
    for place, article in enumerate(json.loads((data / FILE).read_bytes())["data"]):
        number, passages, asked = article["id"], [], []
        for at, paragraph in enumerate(article["paragraphs"], 1):
            passages.append(Passage(f"{number}-{at}", paragraph["context"], article["title"]))
            answered = (question for question in paragraph["qas"] if not question["is_impossible"])
            asked += [Asked(question["question"], f"{number}-{at}") for question in answered]
        if article["summary"].strip():
            passages.append(Passage(f"{number}-0", article["summary"], article["title"]))
        yield Article(HALVES[place % 2], tuple(passages), tuple(asked))


def bare(text: str) -> str:
    """Return a text as typed without diacritics."""
    return "".join(plain(sign.lower()).upper() if sign.isupper() else plain(sign) for sign in text)


def analyses() -> dict[str, tuple[Cut, Cut]]:
    """Return the analyses: tokens of passages and tokens of questions."""
    stemmer, morfeusz, shipped = Stemmer.Stemmer("polish", 0), Morfeusz(), analyzer("pl")
    forms: dict[str, Callable[[str], str]] = {
        "words": str,
        "stems": stemmer.stemWord,
        "lemmas": morfeusz.lemma,
        "stems of lemmas": lambda word: stemmer.stemWord(morfeusz.lemma(word)),
    }
    made: dict[str, tuple[Cut, Cut]] = {"first 5 letters": (lambda text: [word[:5] for word in words(text)],) * 2}
    for name, form in forms.items():
        known = cache(form)
        made[name] = (_cut(known),) * 2
        made[f"{name}, no diacritics"] = (_cut(known, plain),) * 2
    made["the same, stop words dropped"] = shipped.tokens, shipped.tokens
    return {**made, "`--language pl`, `stopwords: long`": (shipped.tokens, shipped.content)}


def _cut(form: Callable[[str], str], after: Callable[[str], str] = str) -> Cut:
    return lambda text: [after(form(word)) for word in words(text)]


class Field:
    """The positions and counts of tokens, as BM25 needs them."""

    def __init__(self, texts: Iterable[list[str]]) -> None:
        counts = [Counter(text) for text in texts]
        self._lengths = np.array([count.total() for count in counts])
        self._held: dict[str, tuple[list[int], list[int]]] = {}
        for place, count in enumerate(counts):
            for token, times in count.items():
                places, frequencies = self._held.setdefault(token, ([], []))
                places.append(place)
                frequencies.append(times)

    def scores(self, tokens: Sequence[str], *parameters: float) -> np.ndarray:
        query = {token: count for token, count in Counter(tokens).items() if token in self._held}
        frequencies = np.zeros((len(query), len(self._lengths)))
        for row, token in enumerate(query):
            places, found = self._held[token]
            frequencies[row, places] = found
        df = np.array([len(self._held[token][0]) for token in query])
        weights = np.array(list(query.values()), float)
        held = int((self._lengths > 0).sum())
        return bm25(frequencies, weights, df, self._lengths, held, self._lengths.sum() / held, *parameters)


def scored(field: Field, ids: Sequence[str], asked: Sequence[Asked], cut: Cut, k1: float, b: float) -> list[float]:
    """Return NDCG@10 of each question. Ties rank the greater id first, as in stores."""
    order = sorted(range(len(ids)), key=ids.__getitem__, reverse=True)
    ndcgs = []
    for question in asked:
        scores = field.scores(cut(question.text), k1, b).astype(np.float32)[order]
        best = [place for place in np.argsort(-scores, kind="stable")[:DEPTH] if scores[place] > 0]
        ndcgs.append(geval_ndcg([question.paragraph], [ids[order[place]] for place in best], DEPTH))
    return ndcgs


def compare_analyses(found: Sequence[Article]) -> None:
    collection = [passage for article in found for passage in article.passages]
    ids = [passage.id for passage in collection]
    asked = {half: [one for article in found if article.half == half for one in article.asked] for half in HALVES}
    typed = {half: [Asked(bare(one.text), one.paragraph) for one in asked[half]] for half in HALVES}
    k1, b = CHOSEN_K1, CHOSEN_B
    made = analyses()
    fields = {
        name: Field(made_tokens(f"{passage.title}\n{passage.text}") for passage in collection)
        for name, (made_tokens, _) in made.items()
    }
    stems = scored(fields["stems"], ids, asked["odd"], made["stems"][1], k1, b)

    def rows() -> Iterator[list[str]]:
        for name, (_, cut) in made.items():
            values = {half: scored(fields[name], ids, asked[half], cut, k1, b) for half in HALVES}
            bares = {half: scored(fields[name], ids, typed[half], cut, k1, b) for half in HALVES}
            means = (f"{mean(each):.4f}" for each in (*values.values(), *bares.values()))
            yield [name, *means, str(difference(values["odd"], stems))]

    counts = f"{len(collection)} passages, {len(asked['even'])} and {len(asked['odd'])} questions"
    print(f"Stand-in: {counts}; NDCG@10; k1 {k1}, b {b}\n")
    head = ["analysis", *HALVES, *(f"{half}, typed without diacritics" for half in HALVES), "odd, minus stems"]
    table(head, rows(), "stand-ins/polish-analysis")
    last = list(made)[-1]

    def tried(k1: float) -> Iterator[str]:
        yield str(k1)
        for b in BS:
            yield f"{mean(scored(fields[last], ids, asked['even'], made[last][1], k1, b)):.4f}"

    print(f"\nStand-in, even half, {last}:\n")
    table(["k1 \\ b", *map(str, BS)], map(list, map(tried, K1S)))


def write(found: Sequence[Article], work: Path) -> None:
    """Write a folder for each half, with the passages of both."""
    for half in HALVES:
        (work / half).mkdir(parents=True, exist_ok=True)
        asked = [one for article in found if article.half == half for one in article.asked]
        passages = (passage.to_json() for article in found for passage in article.passages)
        lines(work / half / "passages.jl", passages)
        lines(work / half / "questions.jl", ({"id": str(n), "text": one.text} for n, one in enumerate(asked, 1)))
        pairs = "".join(f"{number}\t{one.paragraph}\t1\n" for number, one in enumerate(asked, 1))
        (work / half / "pairs.tsv").write_text(f"question-id\tpassage-id\tscore\n{pairs}", encoding="utf-8")


class Row(NamedTuple):
    """A pipeline: ``base`` is one of PIPELINES, changed by ``settings``; ``encoder`` made the collection's vectors."""

    name: str
    base: str = "poleval"
    encoder: str = "shipped"
    settings: Mapping[str, Any] = {}


PIPELINES = {
    "poleval": "extends: poleval\n",
    "dense": "{extends: poleval, stations: {retriever: {type: dense, top_k: 10}}}\n",
    "hybrid": "{extends: poleval, stations: {retriever: hybrid}}\n",
}


def pipelines(multilingual: str | None) -> Iterator[Row]:
    """Return the variants from which the even half chooses."""
    bm25 = {f"retriever.{name}": value for name, value in CHOSEN.items()}
    yield Row("BM25, defaults of `bm25` (.82, .68, short stop words)", settings={
        "retriever.k1": 0.82, "retriever.b": 0.68, "retriever.stopwords": "default"})  # fmt: skip
    yield Row(f"BM25, {', '.join(f'{name} {value}' for name, value in CHOSEN.items())}", settings=bm25)
    for weight in TITLES:
        yield Row(f"the same, title_weight {weight:g}", settings={**bm25, "retriever.title_weight": weight})
    for encoder, named in {"shipped": "the English `encoder`", "multilingual": "`multilingual`"}.items():
        if encoder == "multilingual" and multilingual is None:
            continue
        own = {"retriever.encoder": multilingual} if encoder == "multilingual" else {}
        yield Row(f"dense, {named}", "dense", encoder, own)
        for fusion, weight in FUSIONS if encoder == "multilingual" else FUSIONS[:1]:
            both = {"retriever.fusion": fusion, "retriever.weights": f"{{sparse: 1.0, dense: {weight}}}"}
            yield Row(f"hybrid, {named}, {fusion}, {weight:g}", "hybrid", encoder, {**bm25, **own, **both})


def compare_pipelines(options: argparse.Namespace) -> None:
    """Index, run and evaluate every row by the command line."""
    work, rows = options.work, list(pipelines(options.multilingual))
    for encoder in dict.fromkeys(row.encoder for row in rows):
        given = "encoder" if encoder == "shipped" else options.multilingual
        passages, collection = work / "odd" / "passages.jl", work / f"collection-{encoder}"
        if not collection.exists():
            convqa("index", passages, "--language", "pl", "--collection", collection, "--vectors", given)
    for name, text in PIPELINES.items():
        (work / f"{name}.yaml").write_text(text, encoding="utf-8")
    print("\nStand-in, end to end; the even half chooses:\n")
    first: list[float] = []

    def rows_of_table() -> Iterator[list[str]]:
        for number, row in enumerate(rows):
            even, odd = (_run(work, half, number, row) for half in HALVES)
            first[:] = first or odd
            whole = estimate(odd)
            interval = f"{whole.mean:.4f} [{whole.low:.3f}, {whole.high:.3f}]"
            yield [row.name, f"{mean(even):.4f}", interval, str(difference(odd, first))]

    table(
        ["pipeline", "even NDCG@10", "odd NDCG@10", "odd, minus the first row"],
        rows_of_table(),
        "stand-ins/polish-pipelines",
    )


def _run(work: Path, half: str, number: int, row: Row) -> list[float]:
    """Return NDCG@10 of each question."""
    run, scores = work / "runs" / f"{number}-{half}", work / "runs" / f"{number}-{half}-scores"
    changed = [part for name, value in row.settings.items() for part in ("--set", f"{name}={value}")]
    place = ["--collection", work / f"collection-{row.encoder}", "--pipeline", work / f"{row.base}.yaml"]
    convqa("run", work / half, run, "--restart", *place, *changed)
    convqa("evaluate", work / half, run, "--output", scores)
    return [json.loads(line)["NDCG@10"] for line in (scores / "turns.jsonl").read_text(encoding="utf-8").splitlines()]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="for folders, collections and runs")
    parser.add_argument("--multilingual", help="name or folder of an encoder")
    parser.add_argument("--only", choices=["analyses", "pipelines"])
    options = parser.parse_args()
    found = list(articles(options.data))
    if options.only != "pipelines":
        compare_analyses(found)
    if options.only != "analyses":
        write(found, options.work)
        compare_pipelines(options)


if __name__ == "__main__":
    main()
