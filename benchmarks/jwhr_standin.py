"""Which analyser finds Japanese paragraphs best, and how good is BM25 end to end? A stand-in for JWHR from JSQuAD.

    python benchmarks/jwhr_standin.py --work FOLDER [--data ../shared/data] [--no-run]

Prints tables. JWHR itself is not available, so jsquad-valid is converted to its format: the answer is the sentence with
JSQuAD's first answer, its quote the whole paragraph, its page the article. Every fifth article of each half has no
answers: its paragraphs are in no collection, and its entries end with a search without results. Even articles are for
choosing, odd ones for reporting; one collection holds all remaining paragraphs. Every question shares words with its
paragraph, which is in the collection, so figures are far above those of all of Wikipedia. The pipeline ``jwhr`` is
measured as it ships and without refusing.
"""

from __future__ import annotations

import json
import re
import time
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any
from urllib.parse import quote

from _common import arguments, convqa, lines, table
from poleval_standin import DEPTH, HALVES, Cut, Field

from convqa.domain import Passage
from convqa.tasks.jwhr.passages import passages_of
from convqa.tasks.jwhr.schema import JWHREntry
from convqa.text.analysis import analyzer
from convqa.text.sentences import sentences
from convqa.text.words import words

FILE = "squad-format/jsquad-valid-v1.3.json"
UNANSWERED = 5
FUNCTION = frozenset(["助詞", "助動詞", "補助記号", "空白", "記号"])


@dataclass(frozen=True)
class Case:
    """A question of JSQuAD as an entry of JWHR; ``paragraph`` is the text to find, "" if there is none."""

    half: str
    entry: dict[str, Any]
    paragraph: str


def cases(data: Path) -> Iterator[Case]:
    articles = json.loads((data / FILE).read_bytes())["data"]
    number = 0
    for place, article in enumerate(articles):
        answered = place // 2 % UNANSWERED != UNANSWERED - 1
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                number += 1
                made = _answered(paragraph["context"], article["title"], question) if answered else {}
                entry = {"id": number, "question": question["question"], **(made or _not_found(article["title"]))}
                text = made["references"][0]["page"]["quote"]["text"] if made else ""
                yield Case(HALVES[place % 2], entry, text)


def _answered(context: str, title: str, question: dict[str, Any]) -> dict[str, Any]:
    """Return answer and reference. A context is title, `` [SEP] `` and paragraph; offsets count from its start."""
    text = context.split(" [SEP] ", 1)[1]
    start = question["answers"][0]["answer_start"] - (len(context) - len(text))
    found = [text[one:two] for one, two in sentences(text, "ja") if two > start]
    said = found[0] if found else text
    page = {"title": title, "url": f"https://ja.wikipedia.org/wiki/{quote(title)}", "quote": {"text": text}}
    return {
        "answer": {"text": said, "sentences": [{"text": said, "citations": [0]}]},
        "references": [{"search": {"keywords": [title]}, "page": page}],
    }


def _not_found(title: str) -> dict[str, Any]:
    url = f"https://ja.wikipedia.org/w/index.php?search={quote(title)}"
    return {"references": [{"search": {"keywords": [title]}, "not_found": {"url": url}}]}


def bigrams(text: str) -> list[str]:
    """The baseline without a dictionary: character bigrams; Latin words and numbers whole."""
    runs = re.findall(r"[a-z0-9]+|[^\W_a-z0-9]+", unicodedata.normalize("NFKC", text).lower())
    pairs = ([run] if run.isascii() else [run[at : at + 2] for at in range(max(1, len(run) - 1))] for run in runs)
    return [pair for each in pairs for pair in each]


def sudachi(mode: str, form: str) -> Cut:
    """Sudachi's words in one of its forms, without function words."""
    from sudachipy import Dictionary

    tokenizer = Dictionary(dict="small").tokenizer(mode)

    def cut(text: str) -> list[str]:
        found = tokenizer.tokenize(unicodedata.normalize("NFKC", text))
        kept = (each for each in found if each.part_of_speech()[0] not in FUNCTION)
        return [getattr(each, form)().lower() for each in kept]

    return cut


def analysers() -> dict[str, Cut]:
    forms = {"surface": "surface", "dictionary form": "dictionary_form", "normal form": "normalized_form"}
    modes = {"short": "A", "long": "C"}
    made: dict[str, Cut] = {"characters (as `--language en`)": words, "character bigrams": bigrams}
    for units, mode in modes.items():
        made.update({f"{units} units, {name}": sudachi(mode, form) for name, form in forms.items()})
    return {**made, "`--language ja`": analyzer("ja").tokens}


def ranks(cut: Cut, collection: Sequence[Passage], asked: Sequence[Case]) -> tuple[list[int], float]:
    """Return the rank of each question's paragraph (0 if no word matches), and passages/s of processor time."""
    start = time.process_time()
    tokens = [[*cut(passage.title), *cut(passage.text)] for passage in collection]
    speed = len(collection) / (time.process_time() - start)
    field, places = Field(tokens), {passage.text: place for place, passage in enumerate(collection)}
    found = []
    for case in asked:
        scores = field.scores(cut(case.entry["question"]))
        gold = scores[places[case.paragraph]]
        found.append(int(1 + (scores > gold).sum()) if gold > 0 else 0)
    return found, speed


def figures(found: Sequence[int]) -> list[str]:
    """Return MRR@10, and the shares of questions whose paragraph is first, or among the first ten."""
    reciprocal = mean(1 / rank if 0 < rank <= DEPTH else 0 for rank in found)
    return [f"{value:.3f}" for value in (reciprocal, mean(r == 1 for r in found), mean(0 < r <= DEPTH for r in found))]


def write(made: Sequence[Case], work: Path) -> list[Passage]:
    """Write a folder for each half, and one collection of the task's passages of all entries."""
    for half in HALVES:
        (work / half).mkdir(parents=True, exist_ok=True)
        lines(work / half / "entries.jsonl", (case.entry for case in made if case.half == half))
    collection = list(passages_of(JWHREntry.model_validate(case.entry) for case in made))
    lines(work / "passages.jsonl", (passage.to_json() for passage in collection))
    return collection


WAYS = {
    "refusing": (),
    "always answering": ("--set", "decider.min_score=0.0"),
    "hybrid, refusing": ("--set", "retriever=hybrid"),
    "hybrid, always answering": ("--set", "retriever=hybrid", "--set", "decider.min_score=0.0"),
}
"""The rows of ``hybrid`` rank by the encoder ``multilingual`` too, if it is installed."""


def end_to_end(work: Path, halves: Sequence[str]) -> None:
    """Index, run and evaluate by the command line."""
    collection = str(work / "collection")
    convqa("index", str(work / "passages.jsonl"), "--collection", collection, "--language", "ja", "--replace")
    for half in halves:
        for way, options in WAYS.items():
            out = str(work / f"run-{half}-{way.replace(', ', '-').replace(' ', '-')}")
            convqa("run", str(work / half), out, "--task", "jwhr", "--collection", collection, "--restart", *options)
            print(f"\n{half} articles, {way}", flush=True)
            print(convqa("evaluate", work / half, out, "--task", "jwhr"), flush=True)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="the data set, its collection and its runs")
    parser.add_argument("--no-run", action="store_true", help="compare analysers only")
    parser.add_argument("--halves", nargs="+", choices=HALVES, default=HALVES, help="which are run")
    options = parser.parse_args()
    made = list(cases(options.data))
    collection = write(made, options.work)
    asked = {half: [case for case in made if case.half == half and case.paragraph] for half in HALVES}
    refused = {half: sum(not case.paragraph for case in made if case.half == half) for half in HALVES}
    print(f"{len(collection)} passages;", *(f"{half}: {len(asked[half])} + {refused[half]} entries" for half in HALVES))

    def rows() -> Iterator[Sequence[str]]:
        for name, cut in analysers().items():
            found, speed = ranks(cut, collection, [*asked["even"], *asked["odd"]])
            even, odd = found[: len(asked["even"])], found[len(asked["even"]) :]
            yield [name, *figures(even), *figures(odd), f"{speed:,.0f}"]

    measures = ("MRR@10", "R@1", "R@10")
    table(
        ["analyser", *(f"{half} {name}" for half in HALVES for name in measures), "passages/s"],
        rows(),
        "stand-ins/japanese-analysis",
    )
    if not options.no_run:
        end_to_end(options.work, options.halves)


if __name__ == "__main__":
    main()
