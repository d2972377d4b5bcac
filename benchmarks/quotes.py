"""Fit the judge of sentences, ``convqa.text.english.prose``, and say how good it is on passages held out.

    python benchmarks/quotes.py [--data ../shared/data] [--json FILE] [--without SIGN ...]

What trains: the sentences of quotes.tsv, which were read and labelled by the rule in docs/reading.md (ids and offsets
in passages of the conversations of even number of mtrag_un and inscit_dev; ``folded``: all white space is one blank, as
in crawled text; ``cut``: where a sentence begins behind a heading); and made ones, which weigh less: headings put in
front of sentences, by the lines of mtrag_un's passages, the titles of inscit_dev's and those of Wikipedia's leads;
clean sentences of these and of squadshifts; menus; and sentences without their beginning or end. Five folds by passage
give the figures, all of them the weights, which are printed as the module has them.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from builders import ROOT
from conversation_sets import TUNED

from convqa.text.english import prose
from convqa.text.quotes import _LEAD, shown
from convqa.text.sentences import sentences
from convqa.training.heads import folds, logistic

READ, MADE = 3.0, 0.4
"""How much a sentence counts that was read, and one that was made."""
PENALTY = 1.0
_CLAPNQ = re.compile(r"\d+_")
MENU = (
    "Home", "About Us", "Contact", "Login", "Register", "View Cart", "Privacy Policy", "Terms of Use", "Search", "Menu",
    "Services", "Blog", "News", "Careers", "Shop", "Skip to content", "Sign Up", "Subscribe", "Share", "Print", "Email",
    "Read More", "FAQ", "Copyright", "Facebook", "Twitter", "Categories", "Tags", "Archives", "Reply", "Next",
    "Previous",
)  # fmt: skip


class Example(NamedTuple):
    """A sentence, what stands before it, its passage and that one's group; ``cut`` is where it begins, of a heading."""

    text: str
    before: str
    passage: str
    group: str
    label: str
    cut: int = 0
    weight: float = MADE


def folded(text: str) -> str:
    return " ".join(text.split())


def passages(data: Path, name: str) -> dict[str, dict[str, str]]:
    """The passages that are gold for conversations of even number only."""
    folder = data / "conversations" / name
    gold: tuple[set[str], set[str]] = (set(), set())
    for turn in json.loads((folder / "ground-truth.json").read_bytes()):
        gold[int(turn["Conversation_no"]) % 2].update(turn["Truth_passages"])
    with (folder / "passages.jsonl").open(encoding="utf-8") as lines:
        records = {record["id"]: record for record in map(json.loads, lines)}
    return {id: records[id] for id in sorted(records.keys() & (gold[0] - gold[1]))}


def read(known: dict[str, dict[str, dict[str, str]]]) -> Iterator[Example]:
    with Path(__file__).with_suffix(".tsv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            text = known[row["set"]][row["passage"]]["text"]
            text = folded(text) if row["form"] == "folded" else text
            start, end = int(row["start"]), int(row["end"])
            cut = int(row["cut"] or 0)
            if lead := _LEAD.match(text, start, end):
                start, cut = lead.end(), max(0, cut + start - lead.end())
            label = "clean" if row["label"] == "heading" and not cut else row["label"]
            yield Example(text[start:end], text[:start], text, row["passage"], label, cut, READ)


def headed(heading: str, sentence: str, passage: str, group: str) -> Example:
    return Example(f"{heading} {sentence}", "", passage, group, "heading", len(heading) + 1)


def plausible(one: Example) -> bool:
    """Whether no heading, or one on a web page: behind others than these, folding put it there."""
    return one.label != "heading" or prose.furnished(one.passage) >= 0.1


def first(text: str) -> str:
    """The first sentence of a text, if it has some words and a full stop."""
    found = folded(text[slice(*next(iter(sentences(text)), (0, 0)))])
    return found if len(found.split()) > 5 and found[-1] in ".!?" else ""


def by_lines(records: dict[str, dict[str, str]]) -> Iterator[Example]:
    """Lines without a closing mark, in front of the sentence on the next line."""
    for id, record in records.items():
        lines = [line for line in map(folded, record["text"].split("\n")) if line]
        for heading, line in pairwise(lines):
            plain = heading[-1] not in ".!?:,;|" and len(heading) <= 90 and heading[0].isupper() and "](" not in heading
            if plain and line[0].isupper() and line[-1] in '.!?"' and (sentence := first(line)):
                yield headed(heading, sentence, folded(record["text"]), id)


def clean(data: Path, known: dict[str, dict[str, dict[str, str]]], chance: random.Random) -> Iterator[Example]:
    """Sentences of Wikipedia and Reddit."""
    leads = json.loads((data / "wiki" / "summaries-en.json").read_bytes())
    texts = [leads[title]["extract"] for title in chance.sample(sorted(leads), 1000)]
    texts += [record["text"] for record in known["inscit_dev"].values()]
    # Passages of ClapNQ, whose words and marks stand apart; their first line is their title.
    texts += [record["text"].partition("\n")[2] for record in known["mtrag_un"].values() if _CLAPNQ.match(record["id"])]
    squad = data / "squad-format"
    for path in (squad / "squad2-dev-half.json", *sorted((squad / "squadshifts").iterdir())):
        articles = json.loads(path.read_bytes())["data"]
        contexts = sorted({paragraph["context"] for article in articles for paragraph in article["paragraphs"]})
        texts += chance.sample(contexts, 300)
    for text in texts:
        places = sentences(text)
        for start, end in sorted({*places[:1], *chance.sample(places, min(3, len(places)))}):
            if text[end - 1] in '.!?"' and not text[start].islower():
                yield Example(text[start:end], text[:start], text, text[:30], "clean")


def junk(some: Sequence[Example], pages: Sequence[str], chance: random.Random) -> Iterator[Example]:
    """Menus, menus in front of a sentence, and sentences without beginning or end."""
    headings = [one.text[: one.cut - 1] for one in some if one.label == "heading"]
    for number, one in enumerate(chance.choices([one for one in some if one.label == "clean"], k=350)):
        words, kind = one.text.split(), chance.random()
        menu = chance.sample(MENU, chance.randint(1, 7)) + chance.sample(headings, chance.randint(0, 3))
        middle = chance.randint(2, max(3, len(words) // 2))
        if kind < 0.5:
            text = " ".join(menu)
        elif kind < 0.65:
            text = " ".join([*menu, one.text])
        else:
            text = " ".join(words[:-middle] if kind < 0.8 else words[middle:]).rstrip(".,")
            if not text or (kind >= 0.8 and not text[0].islower()):
                continue
        yield Example(text[:390], "", chance.choice([one.passage, *pages[number % 7 :: 7]]), f"made {number}", "junk")


def model(rows: Sequence[tuple[prose.Signs, bool, float]], without: set[str]) -> dict[str, float]:
    """The weights of a logistic over named signs, from rows of signs, what is right and how much it counts."""
    found, right, shares = zip(*rows, strict=True)
    names = [name for name in found[0] if name not in without]
    table = np.array([[float(row[name]) for name in names] for row in found])
    weights, offset = logistic(table, np.array(right, float), np.array(shares), PENALTY)
    return {"offset": round(offset, 2)} | {
        name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True)
    }


def fit(some: Sequence[Example], without: set[str]) -> None:
    """Put the weights that fit best into the module."""
    rows = [
        (found, place == one.cut, one.weight)
        for one in some
        if one.label != "junk"
        for place, found in prose.cuts(prose.Sentence(one.text), prose.furnished(one.passage))
    ]
    prose.CUT = model(rows, without)
    rows = []
    for one in some:
        start, run_in = prose.beginning(one.text, one.passage)
        right = one.label != "junk" and start == one.cut
        # What is cut too much is not the sentence's fault.
        if one.label == "junk" or start <= one.cut:
            rows.append((signs(one, start, run_in), right, one.weight))
        if one.label == "heading" and start != one.cut:
            rows.append((signs(one, one.cut, prose.beginning(one.text[one.cut :], one.passage)[1]), True, one.weight))
    prose.FITNESS = model(rows, without)


def signs(one: Example, start: int, run_in: float) -> prose.Signs:
    sentence = prose.Sentence(shown(one.text[start:]))
    return prose.signs(sentence, one.before + one.text[:start], one.passage, run_in)


def judged(one: Example) -> tuple[int, float]:
    start, run_in = prose.beginning(one.text, one.passage)
    return start, prose.fitness(shown(one.text[start:]), one.before + one.text[:start], one.passage, run_in)


def report(some: Sequence[Example], without: set[str]) -> None:
    held: list[tuple[Example, int, float]] = []
    for out in folds([one.group for one in some]):
        fit([one for one, left in zip(some, out, strict=True) if not left], without)
        held += [(one, *judged(one)) for one, left in zip(some, out, strict=True) if left and one.weight == READ]
    for label in ("clean", "heading", "junk"):
        own = [(one, start) for one, start, _ in held if one.label == label]
        cut, right = sum(start > 0 for _, start in own), sum(0 < start == one.cut for one, start in own)
        print(f"{label}: {len(own)}; cut {cut}, rightly {right}")
    for least in (0.5, 0.6, 0.7, 0.8):
        quoted = [(one, start) for one, start, fitness in held if fitness >= least]
        wrong = sum(one.label == "junk" or start != one.cut for one, start in quoted)
        lost = sum(one.label == "clean" and fitness < least for one, _, fitness in held)
        print(
            f"fit from {least}: {len(quoted)} of {len(held)} quoted, {wrong} of them wrong ({wrong / len(quoted):.3f});"
            f" {lost / sum(one.label == 'clean' for one, *_ in held):.3f} of the clean ones refused"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--without", nargs="*", default=[], help="signs that are left out")
    parser.add_argument("--json", type=Path, help="the weights in a file")
    options = parser.parse_args()
    chance, without = random.Random(19), set(options.without)
    known = {name: passages(options.data, name) for name in TUNED}
    labelled = list(filter(plausible, read(known)))
    made = [*filter(plausible, by_lines(known["mtrag_un"])), *clean(options.data, known, chance)]
    made += junk(made, [one.passage for one in labelled if one.label != "clean"], chance)
    print(f"{len(labelled)} read, {len(made)} made")
    report([*labelled, *made], without)
    fit([*labelled, *made], without)
    for name in ("CUT", "FITNESS"):
        print(name, "; ".join(f"{sign} {weight:g}" for sign, weight in getattr(prose, name).items()))
    if options.json:
        options.json.write_text(json.dumps([prose.CUT, prose.FITNESS]), encoding="utf-8")


if __name__ == "__main__":
    main()
