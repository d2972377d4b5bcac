"""Conversations as people hold them and runs answer them, made from human rewrites and encyclopedia leads.

People change the topic, come back to one, thank, and ask what needs no history; a run answers with some fifty words of
web text, with the wrong passage, or not at all. The conversations with human rewrites have none of this: they stay on
one topic, and their answers are short and right. What is made here is for training alone, from nothing that is reported
on.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from convqa.files import read_json
from convqa.models.kinds.resolver_input import Past
from convqa.places import shipped
from convqa.safe_yaml import read_yaml
from convqa.text.analysis import analyzer
from convqa.text.english.lexicon import CONTINUING, REFERRING
from convqa.text.idf import idf
from convqa.text.sentences import sentences
from convqa.training.config import TalkShares
from convqa.training.data.reading import FILES
from convqa.training.data.records import need_files, read_lines, read_list, read_titled
from convqa.training.data.rewrites import Example
from convqa.validation import Record, read_as

_WORDS = 50
"""Of an answer of the pipeline ``default``."""

_HOLDERS = 40
"""Passages that hold a word, from which on it is too common to be looked up."""

_SMALL = 4
"""Content words up to which a question with an article and no name speaks of what is known: "What were the causes?".
Chosen on the training part of docs/training.md (2 to 9 were tried)."""

_HEAD = re.compile(r"(?P<name>(?:[^\s,(]+ ){0,7}?[^\s,(]+)(?: \(|,| (?P<verb>is|are|was|were)\b)")


@dataclass(frozen=True, slots=True)
class Lead:
    """The beginning of an article: what it is about, as a question names it, its pronoun, and its sentences."""

    name: str
    pronoun: str
    sentences: tuple[str, ...]


class _Article(Record):
    title: str
    extract: str
    topic: str = ""


class _Truth(Record):
    Conversation_no: int
    Truth_passages: list[str]


class _Passage(Record):
    id: str
    text: str


LEADS = "wiki/summaries-en.json"
EVEN = ("inscit_dev", "mtrag_un")
NEEDED = (
    LEADS, *FILES.values(),
    *(f"conversations/{name}/{file}" for name in EVEN for file in ("passages.jsonl", "ground-truth.json")),
)  # fmt: skip
"""What the data folder must hold."""

PRONOUNS = {
    "he": ("he", "him", "his", "is", "was", "does", "did"),
    "she": ("she", "her", "her", "is", "was", "does", "did"),
    "it": ("it", "it", "its", "is", "was", "does", "did"),
    "they": ("they", "them", "their", "are", "were", "do", "did"),
}
"""Subject, object, possessive, and the verbs that agree."""


class Phrases(Record, extra="forbid"):
    """The file ``configs/training/talks.yaml``, which says what each of them is."""

    first: list[str]
    person: list[str]
    thing: list[str]
    bare: dict[str, str]
    alone: list[str]
    chatter: list[str]
    before: list[str]
    back: list[str]
    menus: list[str]


def talks(
    examples: Sequence[Example], leads: Sequence[Lead], passages: Sequence[str], seed: int, shares: TalkShares
) -> list[Example]:
    """The examples, changed as a run's conversations are, with others whose question needs nothing or a lead's name."""
    maker = _Maker(leads, passages, random.Random(seed), shares)
    histories = [one.history for one in examples]
    made = [maker.changed(one, histories) for one in examples]
    made += [maker.alone(one, histories) for one in maker.some(examples, len(examples) * shares.alone // 100)]
    wanted = len(made) + len(examples) * shares.talks // 100
    while leads and len(made) < wanted:
        made += maker.talk(histories)
    return made[:wanted] if leads else made


class _Maker:
    def __init__(
        self, leads: Sequence[Lead], passages: Sequence[str], chance: random.Random, shares: TalkShares
    ) -> None:
        self._leads, self._passages, self._chance, self._shares = leads, passages, chance, shares
        path = shipped("configs", "training", "talks.yaml")
        self._phrases = read_as(
            Phrases, read_yaml(path, "phrases"), str(path), "Wanted: the lists of the shipped file."
        )
        self._holders: dict[str, list[int]] = {}
        for place, text in enumerate(passages):
            for token in set(analyzer("en").tokens(text)):
                self._holders.setdefault(token, []).append(place)

    def some(self, examples: Sequence[Example], number: int) -> list[Example]:
        return [self._chance.choice(examples) for _ in range(number)]

    def changed(self, example: Example, histories: Sequence[tuple[Past, ...]]) -> Example:
        """The same question, after answers as a run gives them and, for some, after another conversation."""
        history = self._answered(example.history)
        if self._chance.random() < self._shares.foreign:
            history = (*self._foreign(histories), *history)
        return replace(example, history=history)

    def alone(self, example: Example, histories: Sequence[tuple[Past, ...]]) -> Example:
        """A self-contained question, which stays as it is: after another conversation, its own, or both."""
        kind, first = self._chance.random(), example.history[0].question
        question = first if kind < 0.35 and len(first.split()) > 3 and not follows_up(first) else example.rewrite
        history = self._foreign(histories) if kind < 0.75 else self._answered(example.history)
        if kind > 0.6 and question is not first:
            history = (*self._answered(example.history), *self._foreign(histories))[-8:]
        question = self._opened(question)
        return Example(example.conversation, question, history, question)

    def talk(self, histories: Sequence[tuple[Past, ...]]) -> Iterator[Example]:
        """Turns of a conversation about one or two leads, with chatter between, and a return to the first."""
        first, second = self._chance.sample(self._leads, 2)
        history: list[Past] = list(self._foreign(histories)) if self._chance.random() < 0.3 else []
        for lead, other in ((first, second), (second, first))[: self._chance.choice((1, 2, 2))]:
            opening = self._filled(self._chance.choice(self._phrases.first), lead)
            if history:
                yield self._example(lead, opening, history, opening)
            history.append(Past(opening, self._told(lead)))
            for _ in range(self._chance.choice((1, 2, 2, 3))):
                question, rewrite = self._follow_up(lead, other)
                yield self._example(lead, question, history, rewrite)
                history.append(Past(question, "" if rewrite in self._phrases.chatter else self._told(lead)))
        if lead is second:
            question = self._chance.choice(
                self._phrases.person if first.pronoun in ("he", "she") else self._phrases.thing
            )
            back = self._chance.choice(self._phrases.back).replace("{name}", first.name)
            if not back.endswith(". {question}"):
                question = question[0].lower() + question[1:] if question[0] != "{" else question
            yield self._example(
                first,
                back.format(question=self._filled(question, first, pronoun=True)),
                history,
                back.format(question=self._filled(question, first)),
            )

    def _example(self, lead: Lead, question: str, history: Sequence[Past], rewrite: str) -> Example:
        opening = self._opened("")
        question, rewrite = opening + question, opening + rewrite
        if self._chance.random() < 0.3:  # as people type
            question, rewrite = question.lower().rstrip("?"), rewrite.lower().rstrip("?")
        return Example(f"talk-{lead.name}", question, tuple(history), rewrite)

    def _opened(self, question: str) -> str:
        """The same, at times with what people say before they ask."""
        return f"{self._chance.choice(self._phrases.before)} {question}" if self._chance.random() < 0.15 else question

    def _follow_up(self, lead: Lead, other: Lead) -> tuple[str, str]:
        kind = self._chance.random()
        if kind < 0.5:
            question = self._chance.choice(
                self._phrases.person if lead.pronoun in ("he", "she") else self._phrases.thing
            )
            return self._filled(question, lead, pronoun=True), self._filled(question, lead)
        if kind < 0.72:
            question, rewrite = self._chance.choice(list(self._phrases.bare.items()))
            return question, rewrite.format(name=lead.name)
        question = (
            self._filled(self._chance.choice(self._phrases.alone), other, lead)
            if kind < 0.88
            else self._chance.choice(self._phrases.chatter)
        )
        return question, question

    def _filled(self, question: str, lead: Lead, other: Lead | None = None, pronoun: bool = False) -> str:
        """A template with the name of a lead, or its pronoun, and the verbs that agree."""
        he, him, his, be, was, does, did = PRONOUNS[lead.pronoun]
        if not pronoun:
            he = him = lead.name
            his = f"{lead.name}'s"
        text = question.format(
            name=lead.name, other=other.name if other else "", he=he, him=him, his=his, was=was, does=does, did=did,
            **{"is": be},
        )  # fmt: skip
        return text[0].upper() + text[1:]

    def _foreign(self, histories: Sequence[tuple[Past, ...]]) -> tuple[Past, ...]:
        """The beginning of another conversation, answered as a run does, at times with chatter behind it."""
        history = self._chance.choice(histories)
        chatter = (Past(self._chance.choice(self._phrases.chatter), ""),) if self._chance.random() < 0.15 else ()
        return (*self._answered(history[: self._chance.randint(1, 5)]), *chatter)

    def _answered(self, history: Sequence[Past]) -> tuple[Past, ...]:
        return tuple(Past(said.question, self._answer(*said)) for said in history)

    def _answer(self, question: str, answer: str) -> str:
        kind, shares = self._chance.random(), self._shares
        if kind < shares.gold:
            return answer
        if kind < shares.gold + shares.longer and answer:
            parts = [answer, *self._piece(question)]
            self._chance.shuffle(parts)
            return " ".join(" ".join(parts).split()[:_WORDS])
        if kind < shares.gold + shares.longer + shares.wrong:
            return " ".join(" ".join(self._piece(question)).split()[:_WORDS])
        return ""

    def _told(self, lead: Lead) -> str:
        """Some sentences of a lead, at times with a menu before them, or what another passage says, or nothing."""
        kind = self._chance.random()
        if kind < 0.15:
            return ""
        if kind < 0.3:
            return " ".join(" ".join(self._piece()).split()[:_WORDS])
        at = self._chance.choice((0, 0, self._chance.randrange(len(lead.sentences))))
        menu = [self._chance.choice(self._phrases.menus)] if self._chance.random() < 0.25 else []
        return " ".join(" ".join([*menu, *lead.sentences[at:]]).split()[:_WORDS])

    def _piece(self, question: str = "") -> list[str]:
        """Two sentences of a passage that has a rare word of the question, where there is one, else of any."""
        if not self._passages:
            return []
        words = sorted(analyzer("en").content_words(question), key=lambda pair: -idf(pair[0], "en"))
        known = [self._holders[stem] for _, stem in words if len(self._holders.get(stem, ())) in range(1, _HOLDERS)]
        text = self._passages[self._chance.choice(known[0])] if known else self._chance.choice(self._passages)
        found = [text[start:end] for start, end in sentences(text, "en")]
        at = self._chance.randrange(max(1, len(found) - 1))
        menu = [self._chance.choice(self._phrases.menus)] if self._chance.random() < 0.15 else []
        return [*menu, *found[at : at + 2]]


def follows_up(question: str) -> bool:
    """Whether a question speaks of what was said before, by its words; how long it is decides nothing by itself.

    >>> [follows_up(question) for question in ("When was she born?", "And Berlin?", "Why?", "What were the causes?")]
    [True, True, True, True]
    >>> follows_up("Who is Ada Lovelace?")
    False
    """
    analysis = analyzer("en")
    words = analysis.words(question)
    if not REFERRING.isdisjoint(words) or CONTINUING.match(question.strip()):
        return True
    content = [word for word in words if word not in analysis.long_stopwords]
    named = any(word[0].isupper() or any(map(str.isdigit, word)) for word in question.split()[1:])
    return not content or (len(content) <= _SMALL and "the" in words and not named)


def read_leads(root: Path) -> list[Lead]:
    """What the articles of ``wiki/summaries-en.json`` are about.

    :raises InputError: if the data folder lacks what talks are made of.
    """
    need_files(root, NEEDED)
    records = read_titled(root / LEADS, _Article, "an object of articles with title and extract").values()
    return [lead for one in records if (lead := lead_of(one.title, one.extract, one.topic == "People"))]


def read_passages(root: Path) -> list[str]:
    """The leads, the contexts of questions, and the passages of the conversations of even number."""
    records = read_titled(root / LEADS, _Article, "an object of articles with title and extract").values()
    found = [one.extract for one in records]
    for name in FILES.values():
        articles = read_json(root / name, "SQuAD's format")["data"]
        found += [paragraph["context"] for article in articles for paragraph in article["paragraphs"]]
    for name in EVEN:
        folder = root / "conversations" / name
        truths = read_list(folder / "ground-truth.json", _Truth, "records with Conversation_no and Truth_passages")
        odd = {passage for one in truths if one.Conversation_no % 2 for passage in one.Truth_passages}
        even = {passage for one in truths if one.Conversation_no % 2 == 0 for passage in one.Truth_passages} - odd
        lines = read_lines(folder / "passages.jsonl", _Passage, "lines of {id, text}")
        found += [one.text for one in lines if one.id in even]
    return list(dict.fromkeys(found))


def lead_of(title: str, text: str, person: bool) -> Lead | None:
    """The lead of an article, None where its first words do not say what it is about."""
    found = [text[start:end] for start, end in sentences(text, "en")]
    title = re.sub(r" \(.*\)$", "", title)
    head = _HEAD.match(text)
    if not head or len(found) < 2:
        return None
    name = head["name"]
    if name.lower().removeprefix("the ").removeprefix("a ").removeprefix("an ") != title.lower():
        name = title
    article = name.split()[0].lower()
    # "A windmill" in the middle of a question; a proper name keeps its capital.
    if article in ("a", "an", "the"):
        name = f"{article}{name[len(article) :]}"
    elif name.lower() in text[len(name) :]:
        name = name.lower()
    words = re.findall(r"\w+", text.lower())
    he, she = sum(words.count(word) for word in ("he", "his")), sum(words.count(word) for word in ("she", "her"))
    if person:
        if he == she:
            return None
        pronoun = "she" if she > he else "he"
    else:
        pronoun = "they" if head["verb"] in ("are", "were") else "it"
    return Lead(name, pronoun, tuple(found))
