"""Generates training data for quotes.py: clean sentences, and the same with the faults of crawled pages.

Clean sentences come from Wikipedia, SQuAD, Reddit, QReCC's answers, and the inside of lines of mtrag_un's pages. Faulty
ones follow headings, menus, bylines or dates; lack their beginning, end or a word; are glued to the next one, which may
lack its first letters; or have misplaced capitals. There are also titles with a full stop, notices, lists and
references. Nothing of cast2020, clapnq_dev, or_sharc_dev or qrecc_trec_sample is read.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from convqa.text.sentences import sentences
from convqa.text.words import listed

Records = Mapping[str, Mapping[str, str]]

FRONT = Path(__file__).with_name("quotes_front.txt").read_text(encoding="utf-8").splitlines()
"""Text that pages have before their content."""
NOTICES = Path(__file__).with_name("quotes_notices.txt").read_text(encoding="utf-8").splitlines()
BEGINNINGS = [
    "How to", "What Is", "What Are", "Why", "Types of", "History of", "Causes of", "The", "Benefits of", "Signs of",
    "Top 10", "5", "About", "Pros and Cons of",
]  # fmt: skip
MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December", "Jan", "Feb", "Sept", "Dec",
]  # fmt: skip
GOODS = [
    "flour", "sugar", "butter", "salt", "milk", "eggs", "olive", "oil", "onion", "garlic", "pepper", "tomatoes", "rice",
    "water", "cheese", "cream",
]  # fmt: skip
CLAUSES = [
    "wrote {0}", "wrote the book", "founded {0}", "married {0}", "left {0}", "led it", "joined {0} in {1}",
    "won in {1}", "died in {1}", "was born in {1}", "lived in {0}", "passed away in {1}",
    "passed away when {0} was ill", "likes {2}", "knew {0}", "saw {0} in {1}", "met {0}", "is a city", "was kept",
    "plays music", "came from {0}", "has {2}", "sold {2}", "moved to {0} in {1}", "was a writer", "built the wall",
    "had two parts", "made {2}", "liked the {2}",
]  # fmt: skip
LETTERED = ["Series", "Vitamin", "Class", "Type", "Group", "Hepatitis", "Grade", "Plan", "Part", "Model", "Schedule"]
MEASURES = ["cup", "cups", "tbsp", "tsp", "oz"]
ABBREVIATIONS = ["Inc.", "Co.", "plc.", "Ltd.", "Corp.", "Jr.", "etc.", "i.e.", "e.g.", "approx.", "ca.", "vs.", "No."]
SMALL = listed("a an and as at but by for from in into of on or the to with via nor per is are it its your")
ATTACHED = listed("the a an of than to in for with from by is was are and called as at between or on")
_CLAPNQ = re.compile(r"\d+_")


class Example(NamedTuple):
    """A sentence; where it begins after a heading (None: unknown); whether it is fit; its passage."""

    text: str
    begin: int | None
    fit: bool
    group: str


def folded(text: str) -> str:
    return " ".join(text.split())


def titled(text: str) -> str:
    return " ".join(
        word if place and word.lower() in SMALL else word[:1].upper() + word[1:]
        for place, word in enumerate(text.split())
    )


def by_lines(records: Records) -> Iterator[tuple[str, str, str]]:
    """Yield lines without a closing mark, the sentence that begins the next line, and the passage's id."""
    for id, record in records.items():
        lines = [line for line in map(folded, record["text"].split("\n")) if line]
        for heading, line in pairwise(lines):
            plain = heading[-1] not in ".!?:,;|" and len(heading) <= 90 and heading[0].isupper() and "](" not in heading
            if plain and line[0].isupper() and line[-1] in '.!?"' and not _CLAPNQ.match(id):
                start, end = next(iter(sentences(line)))
                if line[end - 1] in ".!?" and 5 < len(line[start:end].split()) < 80:
                    yield heading, line[start:end], id


def texts(data: Path, known: Mapping[str, Records], chance: random.Random) -> Iterator[tuple[str, str, int]]:
    """Return texts of clean sentences, their source, and how many to use."""
    leads = json.loads((data / "wiki" / "summaries-en.json").read_bytes())
    for title in chance.sample(sorted(leads), 5000):
        yield leads[title]["extract"], title, 2
    squad = data / "squad-format"
    for path, count in (
        (squad / "squad2-dev-half.json", 600),
        (squad / "squadshifts" / "new_wiki_v1.0.json", 600),
        (squad / "squadshifts" / "reddit_v1.0.json", 1500),
    ):
        articles = json.loads(path.read_bytes())["data"]
        contexts = sorted({paragraph["context"] for article in articles for paragraph in article["paragraphs"]})
        for text in chance.sample(contexts, min(count, len(contexts))):
            yield text, text[:30], 4
    for id, record in known["inscit_dev"].items():
        yield record["text"], id, 3
    for id, record in known["mtrag_un"].items():
        if _CLAPNQ.match(id):
            # Passages of ClapNQ have blanks around punctuation; their first line is the title.
            yield record["text"].partition("\n")[2], id, 4
            continue
        for line in map(folded, record["text"].split("\n")):
            if len(line) > 120 and line[-1] in ".!?":
                yield line[next(iter(sentences(line)))[1] :], id, 4
    for line in (data / "qrecc" / "train-rewrites-4k.jsonl").read_text(encoding="utf-8").splitlines():
        for answer in re.findall(r" A: (.*)", json.loads(line)["conversation"]):
            if len(sentences(answer)) == 1 and len(answer) < 500 and chance.random() < 0.6:
                yield answer, answer, 1
    for turn in json.loads((data / "qrecc" / "dev-turns.json").read_bytes()):
        for text in (turn["Truth_answer"], turn["Truth_rewrite"]):
            if len(sentences(text)) == 1:
                yield text, text, 1


def clean(data: Path, known: Mapping[str, Records], chance: random.Random) -> list[tuple[str, str]]:
    """Return different clean sentences with their sources, in random order."""
    found: dict[str, str] = {}
    for text, group, most in texts(data, known, chance):
        whole = [
            (start, end)
            for start, end in sentences(text)
            if text[end - 1] in '.!?"\u201d)' and not text[start].islower() and end - start > 11
        ]
        for start, end in whole if len(whole) <= most else chance.sample(whole, most):
            found.setdefault(folded(text[start:end]), group)
    return chance.sample(sorted(found.items()), len(found))


class Maker:
    """Applies the faults of crawled pages to clean sentences and real headings."""

    def __init__(self, data: Path, known: Mapping[str, Records], chance: random.Random) -> None:
        self.chance = chance
        self.sentences = clean(data, known, chance)
        self.lines = list(by_lines(known["mtrag_un"]))
        leads = sorted(json.loads((data / "wiki" / "summaries-en.json").read_bytes()))
        self.names = [title for title in leads if re.fullmatch(r"[A-Z][a-z]+ [A-Z][a-z]+", title)]
        asked = [turn["Truth_rewrite"] for turn in json.loads((data / "qrecc" / "dev-turns.json").read_bytes())]
        turns = json.loads((data / "canard" / "dev.json").read_bytes())
        sections = [part for turn in turns if turn["Question_no"] <= 1 for part in turn["History"][:2]]
        self.titles = [*leads, *sections, *(question.rstrip("?") for question in asked)]

    def examples(self) -> Iterator[Example]:
        for sentence, group in self.sentences:
            yield Example(sentence, 0, True, group)
            if self.chance.random() < 0.4:
                yield Example(self.large(sentence), 0, True, group)
            if self.chance.random() < 0.08:
                yield Example(self.abbreviated(sentence), 0, True, group)
            if self.chance.random() < 0.45:
                yield self.headed(sentence, group)
            for fault, share in self.faults():
                if self.chance.random() < share and (text := fault(sentence)):
                    yield Example(text[:700], None, False, group)
            if self.chance.random() < 0.05:
                yield Example(self.short(), 0, True, group)
            if sentence.startswith("The ") and self.chance.random() < 0.3:
                yield Example(self.lettered(sentence), 0, True, group)
        for heading, sentence, id in self.lines:
            yield Example(f"{heading} {sentence}", len(heading) + 1, False, id)
            yield Example(sentence, 0, True, id)

    def faults(self) -> tuple[tuple[Callable[[str], str], float], ...]:
        """Return the functions that spoil a sentence, with their frequencies."""
        return (
            (self.title, 0.05), (self.fragment, 0.05), (self.without_end, 0.05), (self.without_beginning, 0.04),
            (self.lost_letters, 0.06), (self.glued, 0.04), (self.run_on, 0.03), (self.menu, 0.03), (self.trailed, 0.04),
            (self.numbered, 0.05), (self.lost_word, 0.1), (self.furniture, 0.07),
        )  # fmt: skip

    def chunk(self, least: int, most: int, sentence: str = "") -> str:
        words = (sentence or self.chance.choice(self.sentences)[0]).rstrip('.!?"').split()
        count = self.chance.randint(least, most)
        start = self.chance.randint(0, max(0, len(words) - count))
        return " ".join(words[start : start + count]).strip(" ,;:()\"'.")

    def date(self) -> str:
        day, month, year = self.chance.randint(1, 31), self.chance.choice(MONTHS), self.chance.randint(1998, 2020)
        american = f"{month} {day}, {year}"
        return self.chance.choice((american, american, f"{day} {month} {year}", f"{day % 12 + 1}/{day}/{year}"))

    def byline(self) -> str:
        name, date = self.chance.choice(self.names), self.date()
        return self.chance.choice((
            f"By {name}", f"by {name}", f"By {name} {date}", f"Posted by {name} on {date}",
            f"Posted on {date} by {name}", f"{name} {date}", date, f"Updated {date}", f"Last updated {date}",
            f"By {name} |", f"Written by {name}",
            f"{name}, MD", f"Photo by {name}", f"Credit: {name}", f"{date} at 3:45 pm", f"{name} says: {date}",
            f"Author: {name}", f"{name} / Getty Images", f"Source: {name}", f"Reviewed by {name}", f"({date})",
        ))  # fmt: skip

    def heading(self, sentence: str) -> str:
        kind = self.chance.random()
        capital = titled if self.chance.random() < 0.7 else lambda text: text[:1].upper() + text[1:]
        if kind < 0.15:
            return self.chance.choice(self.lines)[0]
        if kind < 0.35:
            return self.chance.choice((titled, str))(self.chance.choice(self.titles))
        if kind < 0.6:
            return capital(self.chunk(1, 7))
        if kind < 0.72:
            return capital(self.chunk(1, 6, sentence))
        if kind < 0.78:
            return f"{self.chance.choice(BEGINNINGS)} {titled(self.chunk(1, 4))}"
        if kind < 0.87:
            return self.byline()
        if kind < 0.95:
            return " ".join(self.chance.sample(FRONT, self.chance.choice((1, 1, 2, 3))))
        return self.chunk(1, 5).upper() if kind < 0.98 else self.chunk(1, 3) + self.chance.choice((" |", " -", "..."))

    def headed(self, sentence: str, group: str) -> Example:
        headings = self.heading(sentence)
        while self.chance.random() < 0.25:
            headings += " " + self.heading(sentence)
        headings += "" if self.chance.random() < 0.06 else " "
        return Example(headings + sentence, len(headings), False, group)

    def large(self, sentence: str) -> str:
        """Add misplaced capitals."""
        words = sentence.split()
        count = self.chance.randint(1, 4)
        start = self.chance.choice((1, self.chance.randint(1, max(1, len(words) - count - 1))))
        large = titled(" ".join(words[start : start + count])).split()
        return " ".join([*words[:start], *large, *words[start + count :]])

    def short(self) -> str:
        """Return a clause of a few words."""
        first, last = self.chance.choice(self.names).split()
        who = self.chance.choice((first, last, f"{first} {last}", "She", "He", "It"))
        return f"{who} {self.chance.choice(CLAUSES)}.".format(
            self.chance.choice(self.names).split()[1], self.chance.randint(1400, 2020), self.chance.choice(GOODS)
        )

    def lettered(self, sentence: str) -> str:
        """Insert a name that ends in a letter, which is not an article: Vitamin A."""
        return " ".join([self.chance.choice(LETTERED), self.chance.choice("AAABCD"), *sentence.split()[1:]])

    def abbreviated(self, sentence: str) -> str:
        """Insert a full stop that ends no sentence."""
        words = sentence.split()
        place = self.chance.randint(1, max(1, len(words) - 2))
        return " ".join([*words[:place], self.chance.choice(ABBREVIATIONS), *words[place:]])

    def title(self, sentence: str) -> str:
        heading = titled(self.chunk(2, 9)) if self.chance.random() < 0.6 else self.heading(sentence)
        return heading.rstrip(".") + self.chance.choice("....?!")

    def fragment(self, _: str) -> str:
        chunk = self.chunk(2, 9)
        return chunk[:1].upper() + chunk[1:] + self.chance.choice(("", ".", ".", "."))

    def without_end(self, sentence: str) -> str:
        words = sentence.split()
        return " ".join(words[: -self.chance.randint(2, max(3, len(words) // 2))]).rstrip(".,;:")

    def without_beginning(self, sentence: str) -> str:
        words = sentence.split()
        rest = " ".join(words[self.chance.randint(1, max(2, len(words) // 2)) :])
        return rest if rest[:1].islower() or rest[:1] in ",;:)" else ""

    def lost_letters(self, sentence: str) -> str:
        """Glue to the next sentence without its first letters; or return that one alone."""
        rest = self.chance.choice(self.sentences)[0][self.chance.randint(1, 2) :]
        return sentence + rest if self.chance.random() < 0.75 or not rest[:1].islower() else rest

    def glued(self, sentence: str) -> str:
        words = sentence.split()
        place = self.chance.randint(1, max(1, len(words) - 1))
        if self.chance.random() < 0.6:
            return sentence + self.chance.choice(self.sentences)[0]
        return " ".join([*words[: place - 1], "".join(words[place - 1 : place + 1]), *words[place + 1 :]])

    def run_on(self, sentence: str) -> str:
        return f"{sentence.rstrip('.!?')} {self.chance.choice(self.sentences)[0]}"

    def menu(self, sentence: str) -> str:
        parts = [self.chance.choice((self.chance.choice(FRONT), self.heading(sentence))) for _ in range(5)]
        return " ".join(parts[: self.chance.randint(2, 5)]) + self.chance.choice(("", "", "."))

    def trailed(self, sentence: str) -> str:
        behind = (self.heading(sentence), self.byline(), "Read More", "(", "[...]", "Share")
        return f"{sentence} {self.chance.choice(behind)}"

    def numbered(self, sentence: str) -> str:
        number = self.chance.randint(1, 15)
        forms = ("{0} {1}.", "{0} {1}", "{1} {0}", "({1}) {0}", "{2} {1} {0}", "{2}: {1} {0}")
        return self.chance.choice(forms).format(sentence, number, self.chunk(3, 12))

    def lost_word(self, sentence: str) -> str:
        words = sentence.split()
        ends = [place for place, word in enumerate(words) if place > 1 and len(word) > 1 and word[-1] in ".,;)"]
        last = first = self.chance.choice(ends or [0])
        while first > 1 and last - first < 4 and words[first - 1].lower() not in ATTACHED:
            first -= 1
        if not last or words[first - 1].lower() not in ATTACHED:
            return ""
        mark = self.chance.choice(("", " ")) + words[last][-1]
        return " ".join([" ".join(words[:first]) + mark, *words[last + 1 :]])

    def furniture(self, sentence: str) -> str:
        """Return notices, ingredients, references, lists of headings or prices, sometimes before a sentence."""
        chance, (first, last) = self.chance, self.chance.choice(self.names).split()
        made = chance.choice((
            chance.choice(NOTICES), chance.choice(NOTICES),
            " ".join(f"{chance.choice('123')} {chance.choice(MEASURES)} {chance.choice(GOODS)}" for _ in range(4)),
            f"{last} {first[0]}, {chance.choice(self.names)}. {titled(self.chunk(3, 9))}. J Med 2010;12(3):34-56.",
            f"{last}, {first[0]}. ({chance.randint(1960, 2018)}). {titled(self.chunk(3, 8))}.",
            " ".join(chance.sample(FRONT, chance.randint(2, 7))),
            " ".join(titled(self.chunk(1, 4)) for _ in range(chance.randint(3, 9))),
            f"{titled(self.chunk(1, 4))} ${chance.randint(5, 99)}.99 Add to Cart",
            f"{titled(self.chunk(1, 5))} - {titled(self.chunk(1, 3))} | {titled(self.chunk(1, 3))}",
            f"{first} {last} {chance.choice(('says:', 'wrote:', 'Answered', ', PhD'))} {self.date()}",
        ))  # fmt: skip
        return made + (f" {sentence}" if chance.random() < 0.25 else "")
