"""Sentences with evidence that supports them or does not: what the support check learns from and is measured on.

Supported: sentences of human answers, each with the passages that the answer's writer named. Not supported: the same
sentences with another passage, sentences of other answers with the same passages, and sentences in which a number, a
name or a negation was changed (``convqa.training.data.changed``).

Of INSCIT's dev part the direct answers are taken, conversations numbered from 1 in the file's order. Those of even
number train; those of odd number are reported on, and so is ClapNQ's dev part. No passage that is evidence in a
conversation that reports takes part in training.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from convqa.domain import Passage
from convqa.text.analysis import analyzer
from convqa.text.bm25 import bm25
from convqa.text.sentences import sentences
from convqa.text.support import content
from convqa.training.config import INSCIT
from convqa.training.data.changed import CHANGES
from convqa.training.data.records import need_files, read_lines, read_list, read_titled
from convqa.validation import Record

SUPPORTED = "supported"
BM25, CONVERSATION, OTHER = "top passage of BM25", "passage of the conversation", "sentence of another answer"
KINDS = (BM25, CONVERSATION, OTHER, *CHANGES)
"""Kinds of sentences that are not supported."""

CLAPNQ = "clapnq"

FILES = {
    INSCIT: ("inscit/dev.json", "conversations/inscit_dev/passages.jsonl"),
    CLAPNQ: ("conversations/clapnq_dev/ground-truth.json", "conversations/clapnq_dev/passages.jsonl"),
}
"""Files that the data folder must hold."""

_LEAST_WORDS = 3
"""Content words: what has fewer says too little to be borne out or not."""


@dataclass(frozen=True, slots=True)
class Claim:
    """``kind``: ``SUPPORTED`` or one of ``KINDS``. ``conversation``: what a split may not part. ``origin``: the number,
    among the supported sentences of the set, of the one that it is or was made from."""

    conversation: int
    origin: int
    kind: str
    evidence: str
    sentence: str

    @property
    def supported(self) -> bool:
        """Whether the evidence supports the sentence."""
        return self.kind == SUPPORTED


@dataclass(frozen=True, slots=True)
class _Answer:
    """``evidence``: the passages that its writer named; ``known``: all that were named for the same question."""

    conversation: int
    text: str
    evidence: tuple[str, ...]
    known: frozenset[str]


def split(root: Path) -> tuple[list[Claim], dict[str, list[Claim]]]:
    """The examples to train on, and set -> the examples to report on.

    :param root: the data folder, with :data:`FILES`.
    """
    need_files(root, (name for names in FILES.values() for name in names))
    answers, texts = _inscit(root)
    odd = [one for one in answers if one.conversation % 2]
    reported = {name for one in odd for name in one.known}
    even = [one for one in answers if not one.conversation % 2 and reported.isdisjoint(one.known)]
    rest = {name: text for name, text in texts.items() if name not in reported}
    return list(_claims(even, rest)), {INSCIT: list(_claims(odd, texts)), CLAPNQ: list(_claims(*_clapnq(root)))}


class _Evidence(Record):
    passage_id: str


class _Label(Record):
    responseType: str
    response: str
    evidence: list[_Evidence]


class _Turn(Record):
    labels: list[_Label]


class _Conversation(Record):
    turns: list[_Turn]


class _Truth(Record):
    Conversation_no: int
    Truth_answer: str
    Answerable: bool
    Truth_passages: list[str]


class _Passage(Record):
    id: str
    title: str = ""
    text: str


def _inscit(root: Path) -> tuple[list[_Answer], dict[str, str]]:
    answers, passages = (root / name for name in FILES[INSCIT])
    texts = _texts(passages)
    found = []
    conversations = read_titled(answers, _Conversation, "INSCIT's dev part as published")
    for number, conversation in enumerate(conversations.values(), 1):
        for turn in conversation.turns:
            known = frozenset(one.passage_id for label in turn.labels for one in label.evidence) & texts.keys()
            for label in turn.labels:
                evidence = tuple(one.passage_id for one in label.evidence if one.passage_id in texts)
                if label.responseType == "directAnswer" and evidence:
                    found.append(_Answer(number, label.response, evidence, known))
    return found, texts


def _clapnq(root: Path) -> tuple[list[_Answer], dict[str, str]]:
    answers, passages = (root / name for name in FILES[CLAPNQ])
    truths = read_list(answers, _Truth, "ClapNQ's dev part, an answer and its passage a record")
    texts = _texts(passages)
    return [
        _Answer(one.Conversation_no, one.Truth_answer, tuple(one.Truth_passages), frozenset(one.Truth_passages))
        for one in truths
        if one.Answerable and one.Truth_passages and texts.keys() >= set(one.Truth_passages)
    ], texts


def _texts(path: Path) -> dict[str, str]:
    records = read_lines(path, _Passage, "lines of {id, title, text}")
    return {one.id: Passage(one.id, one.text, one.title).whole_text for one in records}


def _claims(answers: Sequence[_Answer], texts: Mapping[str, str]) -> Iterator[Claim]:
    """Each sentence of the answers with its evidence, and whatever can be made of it that is not supported."""
    said = [(one, text) for one in answers for text in _sentences(one.text)]
    found, others = _Search(texts), _Search({str(place): text for place, (_, text) in enumerate(said)})
    for origin, (answer, sentence) in enumerate(said):
        evidence = "\n".join(texts[passage] for passage in answer.evidence)
        ranked = [passage for passage in found.ranked(sentence) if passage not in answer.known]
        near = {passage for one in answers if one.conversation == answer.conversation for passage in one.known}
        best = next(iter(ranked), None)
        same = next((passage for passage in ranked if passage in near), None)
        # What BM25 has nearest to this sentence among those of answers that rest on other passages.
        other = next((text for key in others.ranked(sentence) for one, text in (said[int(key)],)
                      if one.known.isdisjoint(answer.known)), None)  # fmt: skip
        made = {
            SUPPORTED: (evidence, sentence),
            BM25: (texts[best], sentence) if best else None,
            CONVERSATION: (texts[same], sentence) if same else None,
            OTHER: (evidence, other) if other else None,
        }
        for kind, change in CHANGES.items():
            wrong = change(sentence, evidence, random.Random(origin))
            made[kind] = (evidence, wrong) if wrong else None
        yield from (Claim(answer.conversation, origin, kind, *pair) for kind, pair in made.items() if pair)


def _sentences(text: str) -> Iterable[str]:
    for start, end in sentences(text):
        if len(content(text[start:end])) >= _LEAST_WORDS and not text[start:end].endswith("?"):
            yield text[start:end]


class _Search:
    """Texts by BM25; equal scores in the texts' order."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._ids = list(texts)
        counts = [Counter(analyzer("en").tokens(text)) for text in texts.values()]
        self._lengths = np.array([sum(one.values()) for one in counts])
        self._postings: dict[str, dict[int, int]] = {}
        for place, one in enumerate(counts):
            for token, count in one.items():
                self._postings.setdefault(token, {})[place] = count

    def ranked(self, query: str) -> list[str]:
        """The ids of all texts that have a word of the query and then the others, best first."""
        tokens = [token for token in dict.fromkeys(analyzer("en").tokens(query)) if token in self._postings]
        frequencies = np.zeros((len(tokens), len(self._ids)))
        for row, token in enumerate(tokens):
            places = self._postings[token]
            frequencies[row, list(places)] = list(places.values())
        df = np.array([len(self._postings[token]) for token in tokens])
        scores = bm25(frequencies, np.ones(len(tokens)), df, self._lengths, len(self._ids), self._lengths.mean())
        return [self._ids[place] for place in np.argsort(-scores, kind="stable")]
