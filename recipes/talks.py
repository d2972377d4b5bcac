"""Synthetic conversations that resemble those of runs, made from human rewrites and encyclopedia leads.

People change the topic and return to it, give thanks, and ask self-contained questions; a run answers with about fifty
words of web text, with the wrong passage, or not at all. The conversations with human rewrites stay on one topic and
have short, correct answers. Synthetic conversations are for training only and use no report data.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from convqa.files import read_json
from convqa.models.kinds.resolver_input import Past
from convqa.safe_yaml import read_yaml
from convqa.text.analysis import analyzer
from convqa.text.idf import idf
from convqa.text.sentences import sentences
from convqa.text.words import listed
from convqa.training.config import Share
from convqa.training.examples import RewriteExample
from convqa.validation import Record, read_as
from recipes.files import Truth, need_files, read_list
from recipes.files import read_passages as passages_of
from recipes.reader import FILES
from recipes.rewrites import example as made

_WORDS = 50
"""Maximum words of an answer, as in the pipeline ``default``."""

_HOLDERS = 40
"""Number of passages from which on a word is too common to be looked up."""

_SMALL = 4
"""Maximum content words of a question that refers to something known by an article and no name: "What were the
causes?". Chosen on the training part of docs/reference/training.md (2 to 9 were tried)."""

_REFERRING = listed(
    "it its itself he him his himself she her hers herself they them their theirs themselves this that these those "
    "there one ones such so other others another else more most same both either neither each former latter first "
    "second next previous then too also instead again besides above below mentioned"
)
"""Words that refer to something mentioned before."""

_CONTINUING = re.compile(r"^(?:and|but|or|so|then|also|because|why not|what about|how about|what if|how come)\b", re.I)
"""The beginning of a question that continues the previous one."""

_HEAD = re.compile(r"(?P<name>(?:[^\s,(]+ ){0,7}?[^\s,(]+)(?: \(|,| (?P<verb>is|are|was|were)\b)")


@dataclass(frozen=True, slots=True)
class Lead:
    """The beginning of an article: its topic as a question names it, the topic's pronoun, and the sentences."""

    name: str
    pronoun: str
    sentences: tuple[str, ...]


class _Article(Record):
    title: str
    extract: str
    topic: str = ""


LEADS = "wiki/summaries-en.json"
EVEN = ("inscit_dev", "mtrag_un")
NEEDED = (
    LEADS, *FILES.values(),
    *(f"conversations/{name}/{file}" for name in EVEN for file in ("passages.jsonl", "ground-truth.json")),
)  # fmt: skip
"""Required files of the data folder."""

PRONOUNS = {
    "he": ("he", "him", "his", "is", "was", "does", "did"),
    "she": ("she", "her", "her", "is", "was", "does", "did"),
    "it": ("it", "it", "its", "is", "was", "does", "did"),
    "they": ("they", "them", "their", "are", "were", "do", "did"),
}
"""Subject, object, possessive, and agreeing verbs."""


class Phrases(Record, extra="forbid"):
    """The file ``recipes/talks.yaml``, which explains each field."""

    first: list[str]
    person: list[str]
    thing: list[str]
    bare: dict[str, str]
    alone: list[str]
    chatter: list[str]
    before: list[str]
    back: list[str]
    menus: list[str]


class TalkShares(Record, extra="forbid"):
    """How to make conversations resemble those of runs.

    ``foreign``: share of the human examples that follow another conversation. ``gold``, ``longer``, ``wrong``: shares
    of their answers that are kept, extended with sentences of a passage, and replaced by another passage; the rest
    becomes empty. ``alone``, ``talks``: self-contained questions, and turns about the leads of articles, to add per 100
    human examples.
    """

    foreign: Share = 0.3
    gold: Share = 0.4
    longer: Share = 0.3
    wrong: Share = 0.15
    alone: int = Field(30, ge=0)
    talks: int = Field(45, ge=0)


def talks(
    examples: Sequence[RewriteExample], leads: Sequence[Lead], passages: Sequence[str], seed: int, shares: TalkShares
) -> list[RewriteExample]:
    """Return the examples with changed histories, self-contained questions, and conversations about leads."""
    maker = _Maker([tuple(one.history) for one in examples], leads, passages, random.Random(seed), shares)
    result = [maker.changed(example) for example in examples]
    chosen = [maker.chance.choice(examples) for _ in range(len(examples) * shares.alone // 100)]
    result += [maker.alone(example) for example in chosen]
    total = len(result) + len(examples) * shares.talks // 100
    while leads and len(result) < total:
        result += maker.talk()
    return result[:total]


class _Maker:
    def __init__(
        self,
        histories: Sequence[tuple[Past, ...]],
        leads: Sequence[Lead],
        passages: Sequence[str],
        chance: random.Random,
        shares: TalkShares,
    ) -> None:
        self._histories, self._leads, self._passages, self._shares = histories, leads, passages, shares
        self.chance = chance
        path = Path(__file__).with_name("talks.yaml")
        self._phrases = read_as(Phrases, read_yaml(path, "phrases"), str(path), "Expected the shipped file's lists.")
        self._holders: dict[str, list[int]] = {}
        for index, text in enumerate(passages):
            for token in set(analyzer("en").tokens(text)):
                self._holders.setdefault(token, []).append(index)

    def changed(self, example: RewriteExample) -> RewriteExample:
        """Give the example a run's answers and, for some, a preceding conversation."""
        history = self._answered(example.history)
        if self.chance.random() < self._shares.foreign:
            history = (*self._foreign(), *history)
        return example.model_copy(update={"history": list(history)})

    def alone(self, example: RewriteExample) -> RewriteExample:
        """Make a self-contained question after another conversation, its own, or both. It needs no rewrite."""
        kind, first = self.chance.random(), example.history[0].question
        question = first if kind < 0.35 and len(first.split()) > 3 and not follows_up(first) else example.rewrite
        history = self._foreign() if kind < 0.75 else self._answered(example.history)
        if kind > 0.6 and question is not first:
            history = (*self._answered(example.history), *self._foreign())[-8:]
        question = self._opened(question)
        return made(example.conversation, question, history, question)

    def talk(self) -> Iterator[RewriteExample]:
        """Yield the turns of a conversation about one or two leads, with chatter and a return to the first."""
        first, second = self.chance.sample(self._leads, 2)
        history: list[Past] = list(self._foreign()) if self.chance.random() < 0.3 else []
        for lead, other in ((first, second), (second, first))[: self.chance.choice((1, 2, 2))]:
            opening = self._filled(self.chance.choice(self._phrases.first), lead)
            if history:
                yield self._example(lead, opening, history, opening)
            history.append(Past(opening, self._lead_answer(lead)))
            for _ in range(self.chance.choice((1, 2, 2, 3))):
                question, rewrite = self._follow_up(lead, other)
                yield self._example(lead, question, history, rewrite)
                history.append(Past(question, "" if rewrite in self._phrases.chatter else self._lead_answer(lead)))
        if lead is second:
            question = self._template(first)
            back = self.chance.choice(self._phrases.back).replace("{name}", first.name)
            if not back.endswith(". {question}"):
                question = question[0].lower() + question[1:] if question[0] != "{" else question
            yield self._example(
                first,
                back.format(question=self._filled(question, first, pronoun=True)),
                history,
                back.format(question=self._filled(question, first)),
            )

    def _example(self, lead: Lead, question: str, history: Sequence[Past], rewrite: str) -> RewriteExample:
        opening = self._opened("")
        question, rewrite = opening + question, opening + rewrite
        if self.chance.random() < 0.3:  # as people type
            question, rewrite = question.lower().rstrip("?"), rewrite.lower().rstrip("?")
        return made(f"talk-{lead.name}", question, history, rewrite)

    def _opened(self, question: str) -> str:
        """Sometimes add a phrase that people say before they ask."""
        return f"{self.chance.choice(self._phrases.before)} {question}" if self.chance.random() < 0.15 else question

    def _template(self, lead: Lead) -> str:
        return self.chance.choice(self._phrases.person if lead.pronoun in ("he", "she") else self._phrases.thing)

    def _follow_up(self, lead: Lead, other: Lead) -> tuple[str, str]:
        kind = self.chance.random()
        if kind < 0.5:
            question = self._template(lead)
            return self._filled(question, lead, pronoun=True), self._filled(question, lead)
        if kind < 0.72:
            question, rewrite = self.chance.choice(list(self._phrases.bare.items()))
            return question, rewrite.format(name=lead.name)
        if kind < 0.88:
            question = self._filled(self.chance.choice(self._phrases.alone), other, lead)
        else:
            question = self.chance.choice(self._phrases.chatter)
        return question, question

    def _filled(self, question: str, lead: Lead, other: Lead | None = None, pronoun: bool = False) -> str:
        """Fill a template with the name or pronoun of a lead and the agreeing verbs."""
        he, him, his, be, was, does, did = PRONOUNS[lead.pronoun]
        if not pronoun:
            he = him = lead.name
            his = f"{lead.name}'s"
        text = question.format(
            name=lead.name, other=other.name if other else "", he=he, him=him, his=his, was=was, does=does, did=did,
            **{"is": be},
        )  # fmt: skip
        return text[0].upper() + text[1:]

    def _foreign(self) -> tuple[Past, ...]:
        """Return the beginning of another conversation with a run's answers, sometimes followed by chatter."""
        history = self.chance.choice(self._histories)
        chatter = (Past(self.chance.choice(self._phrases.chatter), ""),) if self.chance.random() < 0.15 else ()
        return (*self._answered(history[: self.chance.randint(1, 5)]), *chatter)

    def _answered(self, history: Sequence[Past]) -> tuple[Past, ...]:
        return tuple(Past(past.question, self._answer(*past)) for past in history)

    def _answer(self, question: str, answer: str) -> str:
        kind, shares = self.chance.random(), self._shares
        if kind < shares.gold:
            return answer
        if kind < shares.gold + shares.longer and answer:
            parts = [answer, *self._excerpt(question)]
            self.chance.shuffle(parts)
            return _shortened(parts)
        if kind < shares.gold + shares.longer + shares.wrong:
            return _shortened(self._excerpt(question))
        return ""

    def _lead_answer(self, lead: Lead) -> str:
        """Return some sentences of a lead, sometimes after a menu; or those of another passage, or nothing."""
        kind = self.chance.random()
        if kind < 0.15:
            return ""
        if kind < 0.3:
            return _shortened(self._excerpt())
        first = self.chance.choice((0, 0, self.chance.randrange(len(lead.sentences))))
        menu = [self.chance.choice(self._phrases.menus)] if self.chance.random() < 0.25 else []
        return _shortened([*menu, *lead.sentences[first:]])

    def _excerpt(self, question: str = "") -> list[str]:
        """Return two sentences of a passage with a rare word of the question, or of any passage if there is none."""
        if not self._passages:
            return []
        words = sorted(analyzer("en").content_words(question), key=lambda pair: -idf(pair[0], "en"))
        holders = [self._holders[stem] for _, stem in words if len(self._holders.get(stem, ())) in range(1, _HOLDERS)]
        text = self._passages[self.chance.choice(holders[0])] if holders else self.chance.choice(self._passages)
        spans = sentences(text, "en")
        first = self.chance.randrange(max(1, len(spans) - 1))
        menu = [self.chance.choice(self._phrases.menus)] if self.chance.random() < 0.15 else []
        return [*menu, *(text[start:end] for start, end in spans[first : first + 2])]


def _shortened(parts: Sequence[str]) -> str:
    return " ".join(" ".join(parts).split()[:_WORDS])


def follows_up(question: str) -> bool:
    """Return whether a question refers to something said before, by its words and not by its length alone.

    >>> [follows_up(question) for question in ("When was she born?", "And Berlin?", "Why?", "What were the causes?")]
    [True, True, True, True]
    >>> follows_up("Who is Ada Lovelace?")
    False
    """
    analysis = analyzer("en")
    words = analysis.words(question)
    if not _REFERRING.isdisjoint(words) or _CONTINUING.match(question.strip()):
        return True
    content = [word for word in words if word not in analysis.long_stopwords]
    named = any(word[0].isupper() or any(map(str.isdigit, word)) for word in question.split()[1:])
    return not content or (len(content) <= _SMALL and "the" in words and not named)


def read_leads(root: Path) -> list[Lead]:
    """Read the leads of ``wiki/summaries-en.json``.

    :raises InputError: if the data folder lacks a file that synthetic conversations need.
    """
    need_files(root, NEEDED)
    return [lead for one in _articles(root) if (lead := lead_of(one.title, one.extract, one.topic == "People"))]


def read_contexts(root: Path, names: Iterable[str] = (LEADS, *FILES.values())) -> list[str]:
    """Read the leads and the contexts of questions."""
    texts = []
    for name in names:
        if name == LEADS:
            texts += [article.extract for article in _articles(root)]
            continue
        articles = read_json(root / name, "SQuAD's format")["data"]
        texts += [paragraph["context"] for article in articles for paragraph in article["paragraphs"]]
    return list(dict.fromkeys(texts))


def read_passages(root: Path) -> list[str]:
    """Read the leads, the contexts of questions, and the passages of even conversations."""
    texts = read_contexts(root)
    for name in EVEN:
        folder = root / "conversations" / name
        truths = read_list(folder / "ground-truth.json", Truth, "records with Conversation_no and Truth_passages")
        ids: tuple[set[str], set[str]] = (set(), set())
        for truth in truths:
            ids[truth.Conversation_no % 2].update(truth.Truth_passages)
        texts += [line.text for line in passages_of(folder / "passages.jsonl") if line.id in ids[0] - ids[1]]
    return list(dict.fromkeys(texts))


def _articles(root: Path) -> list[_Article]:
    return read_list(root / LEADS, _Article, "an object of articles with title and extract")


def lead_of(title: str, text: str, person: bool) -> Lead | None:
    """Return the lead of an article, None if its first words do not name the topic."""
    spans = sentences(text, "en")
    title = re.sub(r" \(.*\)$", "", title)
    head = _HEAD.match(text)
    if not head or len(spans) < 2:
        return None
    name = head["name"]
    if name.lower().removeprefix("the ").removeprefix("a ").removeprefix("an ") != title.lower():
        name = title
    article = name.split()[0].lower()
    # Lower-cases "A windmill" for the middle of a question; proper names keep their capital.
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
    return Lead(name, pronoun, tuple(text[start:end] for start, end in spans))
