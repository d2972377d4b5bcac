"""Supported and unsupported sentences, to train and evaluate the support check.

    python -m recipes.support DATA EXAMPLES

Supported sentences come from human answers, with the passages that the writer named as evidence. Unsupported examples
pair them with another passage, pair the evidence with a sentence of another answer, or change a number, a name or a
negation.

The answers are the direct answers of INSCIT's dev part, with conversations numbered from 1 in file order. Even
conversations are for training; odd ones are for reporting, as is ClapNQ's dev part. Training uses no passage that is
evidence in a reported conversation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from convqa.domain import Passage
from convqa.text.analysis import analyzer
from convqa.text.bm25 import bm25
from convqa.text.sentences import sentences
from convqa.text.support import content
from convqa.training.examples import Evidenced, SupportExample
from convqa.validation import Record
from recipes.files import GUARD, Files, Truth, main, need_files, read_list, read_passages

_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?![\w,]*\d)")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,}){0,2}\b")
_WORD = re.compile(r"\w+")
_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|has been|have been|has|have|had|can|could|will|would|may|might|must|should|did|does|do)\b"
)
_NEGATED = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|will|would|may|might|must|should) ?(?:not|n['\u2019]t)\b"
)
_MONTHS = {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December"}  # fmt: skip


def number(sentence: str, evidence: str, chance: Random) -> str | None:
    """Replace one number by another of the same length from the evidence, or by a nearby one that the evidence lacks.

    None if the sentence has no number.

    >>> number("He came in 1808.", "He came in 1808 and left in 1832.", Random(1))
    'He came in 1832.'
    """
    matches = list(_NUMBER.finditer(sentence))
    if not matches:
        return None
    old = chance.choice(matches)
    in_evidence = {match[0] for match in _NUMBER.finditer(evidence)}
    in_sentence = {match[0] for match in matches}
    same_length = sorted(number for number in in_evidence - in_sentence if len(number) == len(old[0]))
    value = int(old[0].replace(",", ""))
    nearby = next(
        text
        for step in (*chance.sample(range(1, 10), 9), *range(10, 10_000))
        if (text := f"{value + step:,}" if "," in old[0] else str(value + step)) not in in_evidence | in_sentence
    )
    # Half of the replacements come from the evidence, if it has any.
    return _with(sentence, old, chance.choice(same_length) if same_length and chance.random() < 0.5 else nearby)


def name(sentence: str, evidence: str, chance: Random) -> str | None:
    """Replace one name by another from the evidence; None if the sentence or the evidence has none.

    >>> name("It was Goethe who wrote it.", "In it Goethe mocks Nicolai.", Random(1))
    'It was Nicolai who wrote it.'
    """
    matches = [match for match in _NAME.finditer(sentence) if match[0] not in _MONTHS]
    if not matches:
        return None
    old = chance.choice(matches)
    words = set(_WORD.findall(sentence))
    others = sorted({match[0] for match in _NAME.finditer(evidence) if words.isdisjoint(match[0].split())} - _MONTHS)
    return _with(sentence, old, chance.choice(others)) if others else None


def negation(sentence: str, evidence: str, chance: Random) -> str | None:  # noqa: ARG001 - the type Change
    """Affirm the first negated auxiliary, or else negate the first auxiliary; None without an auxiliary.

    >>> negation("He was not there.", "", Random(1)), negation("He was there.", "", Random(1))
    ('He was there.', 'He was not there.')
    """
    if negated := _NEGATED.search(sentence):
        return _with(sentence, negated, negated[1])
    auxiliary = _AUXILIARY.search(sentence)
    if auxiliary is None or re.match(r" (?:no|never|neither|nor)\b", sentence[auxiliary.end() :]):
        return None
    head, _, rest = auxiliary[0].partition(" ")
    return _with(sentence, auxiliary, f"{head} not{' ' if rest else ''}{rest}")


def _with(sentence: str, old: re.Match[str], new: str) -> str:
    return sentence[: old.start()] + new + sentence[old.end() :]


Change = Callable[[str, str, Random], str | None]
"""(sentence, evidence, chance) -> the falsified sentence, None if the rule does not apply."""

CHANGES: Mapping[str, Change] = {"number changed": number, "name changed": name, "negation changed": negation}


BM25, CONVERSATION, OTHER = "top passage of BM25", "passage of the conversation", "sentence of another answer"
KINDS = (BM25, CONVERSATION, OTHER, *CHANGES)
"""Kinds of unsupported sentences."""

INSCIT, CLAPNQ = "inscit", "clapnq"

FILES = {
    INSCIT: ("inscit/dev.json", "conversations/inscit_dev/passages.jsonl"),
    CLAPNQ: ("conversations/clapnq_dev/ground-truth.json", "conversations/clapnq_dev/passages.jsonl"),
}
"""Required files of the data folder."""

_LEAST_WORDS = 3
"""Minimum content words of a sentence."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """``evidence``: the passages that its writer named; ``known``: all passages named for the same question."""

    conversation: int
    text: str
    evidence: tuple[str, ...]
    known: frozenset[str]


def split(root: Path) -> tuple[list[SupportExample], dict[str, list[SupportExample]]]:
    """Return the training examples, and set -> report examples.

    :param root: the data folder, with :data:`FILES`.
    """
    need_files(root, (name for names in FILES.values() for name in names))
    answers, texts = _inscit(root)
    odd = [answer for answer in answers if answer.conversation % 2]
    reported = {name for answer in odd for name in answer.known}
    even = [answer for answer in answers if not answer.conversation % 2 and reported.isdisjoint(answer.known)]
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


def _inscit(root: Path) -> tuple[list[_Answer], dict[str, str]]:
    file, passages = (root / name for name in FILES[INSCIT])
    texts = _texts(passages)
    answers = []
    conversations = read_list(file, _Conversation, "INSCIT's dev part as published")
    for number, conversation in enumerate(conversations, 1):
        for turn in conversation.turns:
            known = frozenset(item.passage_id for label in turn.labels for item in label.evidence) & texts.keys()
            for label in turn.labels:
                evidence = tuple(item.passage_id for item in label.evidence if item.passage_id in texts)
                if label.responseType == "directAnswer" and evidence:
                    answers.append(_Answer(number, label.response, evidence, known))
    return answers, texts


def _clapnq(root: Path) -> tuple[list[_Answer], dict[str, str]]:
    file, passages = (root / name for name in FILES[CLAPNQ])
    truths = read_list(file, Truth, "ClapNQ's dev part, a record per answer and passage")
    texts = _texts(passages)
    return [
        _Answer(truth.Conversation_no, truth.Truth_answer, tuple(truth.Truth_passages), frozenset(truth.Truth_passages))
        for truth in truths
        if truth.Answerable and truth.Truth_passages and texts.keys() >= set(truth.Truth_passages)
    ], texts


def _texts(path: Path) -> dict[str, str]:
    return {one.id: Passage(one.id, one.text, one.title).whole_text for one in read_passages(path)}


def _claims(answers: Sequence[_Answer], texts: Mapping[str, str]) -> Iterator[SupportExample]:
    """Yield each sentence of the answers with its evidence and the unsupported pairs derived from it."""
    supported = [(answer, text) for answer in answers for text in _sentences(answer.text)]
    passage_search = _Search(texts)
    sentence_search = _Search({str(index): text for index, (_, text) in enumerate(supported)})
    known: dict[int, set[str]] = {}
    for answer in answers:
        known.setdefault(answer.conversation, set()).update(answer.known)
    for origin, (answer, sentence) in enumerate(supported):
        evidence = "\n".join(texts[passage] for passage in answer.evidence)
        ranked = [passage for passage in passage_search.ranked(sentence) if passage not in answer.known]
        best = next(iter(ranked), None)
        same = next((passage for passage in ranked if passage in known[answer.conversation]), None)
        # The sentence nearest by BM25 among those of answers that rest on other passages.
        others = (supported[int(key)] for key in sentence_search.ranked(sentence))
        other = next((text for source, text in others if source.known.isdisjoint(answer.known)), None)
        pairs = {
            BM25: (texts[best], sentence) if best else None,
            CONVERSATION: (texts[same], sentence) if same else None,
            OTHER: (evidence, other) if other else None,
        }
        for kind, change in CHANGES.items():
            wrong = change(sentence, evidence, Random(origin))
            pairs[kind] = (evidence, wrong) if wrong else None
        unsupported = {kind: Evidenced(evidence=pair[0], sentence=pair[1]) for kind, pair in pairs.items() if pair}
        yield SupportExample(
            conversation=answer.conversation, evidence=evidence, sentence=sentence, unsupported=unsupported
        )


def _sentences(text: str) -> Iterable[str]:
    for start, end in sentences(text):
        if len(content(text[start:end])) >= _LEAST_WORDS and not text[start:end].endswith("?"):
            yield text[start:end]


class _Search:
    """BM25 search in memory. Ties keep the order of the texts."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._ids = list(texts)
        counts = [Counter(analyzer("en").tokens(text)) for text in texts.values()]
        self._lengths = np.array([sum(count.values()) for count in counts])
        self._postings: dict[str, dict[int, int]] = {}
        for index, count in enumerate(counts):
            for token, frequency in count.items():
                self._postings.setdefault(token, {})[index] = frequency

    def ranked(self, query: str) -> list[str]:
        """Return the ids of all texts, best first."""
        tokens = [token for token in dict.fromkeys(analyzer("en").tokens(query)) if token in self._postings]
        frequencies = np.zeros((len(tokens), len(self._ids)))
        for row, token in enumerate(tokens):
            postings = self._postings[token]
            frequencies[row, list(postings)] = list(postings.values())
        df = np.array([len(self._postings[token]) for token in tokens])
        scores = bm25(frequencies, np.ones(len(tokens)), df, self._lengths, len(self._ids), self._lengths.mean())
        return [self._ids[index] for index in np.argsort(-scores, kind="stable")]


_SOURCES = f"""
- INSCIT (Wu et al. 2023; no licence stated), direct answers of the dev part, conversations of even number
{GUARD}
"""


def make(data: Path) -> Files:
    """Return the files of the examples."""
    training, reported = split(data)
    return {"train.jsonl": training, **{f"report-{name}.jsonl": examples for name, examples in reported.items()}}


if __name__ == "__main__":
    main(__doc__, lambda arguments: (make(arguments.data), _SOURCES))
