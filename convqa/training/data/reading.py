"""Questions with contexts to train a reader on, and their fixed split.

``squad2`` (half of SQuAD 2's dev part): articles 0, 2, 4 ... are for training, except the last, which is for
validation; articles 1, 3, 5 ... are for reporting. ``new-wiki`` and ``reddit`` (SQuADShifts): one context in twenty is
for validation and one for reporting (``new-wiki``: one whole article in twelve). Training contexts share no sentence of
eight words with the others. The user's own files, in SQuAD's or MRQA's format, are for training; without another
validation set, one context in fifty is for validation. They are read one context at a time.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from convqa.errors import InputError
from convqa.tasks.mrqa.contexts import Context, Question
from convqa.tasks.mrqa.input import read_contexts
from convqa.tasks.mrqa.squad import read_squad
from convqa.text.analysis import analyzer
from convqa.text.idf import idf
from convqa.text.sentences import sentences
from convqa.text.words import words
from convqa.training.config import OWN, ReaderSettings
from convqa.training.data.records import named_folder

SQUAD2, NEW_WIKI, REDDIT = "squad2", "new-wiki", "reddit"

FILES = {
    SQUAD2: "squad-format/squad2-dev-half.json",
    NEW_WIKI: "squad-format/squadshifts/new_wiki_v1.0.json",
    REDDIT: "squad-format/squadshifts/reddit_v1.0.json",
}
"""Set -> required file of the data folder."""

TRAIN, VALIDATE, REPORT = "train", "validate", "report"

_DISTINCTIVE = 8
"""Minimum words of a sentence that two texts rarely share by chance."""

_NEAR = 300
"""Previous contexts to search for one that does not answer a question."""

_VALIDATED = 50
"""One context in so many of the user's own is for validation."""


@dataclass(frozen=True, slots=True)
class Split:
    """``training``: set -> function that reads its contexts. ``validation`` and ``reported``: set -> contexts."""

    training: Mapping[str, Callable[[], Iterator[Context]]]
    validation: Mapping[str, list[Context]]
    reported: Mapping[str, list[Context]]


def split(settings: ReaderSettings, root: Path | None) -> Split:
    """Split the sets that the settings name."""
    named = sorted(settings.sets() - {OWN})
    files = {name: _existing(root, FILES[name]) for name in named}
    own = [_existing(root, name) for name in settings.own]
    held = {part: {name: list(_part(name, files[name], part)) for name in named} for part in (VALIDATE, REPORT)}
    if not named:
        held[VALIDATE] = {OWN: [context for file in own for context in _own(file, validates=True)]}
        if not any(context.questions for context in held[VALIDATE][OWN]):
            raise InputError(
                f"own: expected at least {_VALIDATED} contexts, because one in {_VALIDATED} is for validation; the "
                f"{len(own)} files have fewer."
            )
    held_out = [context for sets in held.values() for contexts in sets.values() for context in contexts]
    taken = set().union(*(_distinctive(context.text) for context in held_out))

    def apart(contexts: Iterator[Context]) -> Iterator[Context]:
        return (context for context in contexts if taken.isdisjoint(_distinctive(context.text)))

    def known(name: str) -> Iterator[Context]:
        return apart(_part(name, files[name], TRAIN))

    def owned() -> Iterator[Context]:
        for file in own:
            contexts = read_contexts(file) if named else _own(file, validates=False)
            share = settings.each / _questions(file) if settings.each else 1.0
            yield from sampled(apart(contexts), share, settings.seed)

    training: dict[str, Callable[[], Iterator[Context]]] = {name: partial(known, name) for name in named}
    if own:
        training[OWN] = owned
    return Split(training, held[VALIDATE], held[REPORT])


def sampled(contexts: Iterator[Context], share: float, seed: int) -> Iterator[Context]:
    """Yield the contexts with a random share of their questions, all from a share of 1 on."""
    chance = random.Random(seed)
    for context in contexts:
        kept = tuple(question for question in context.questions if chance.random() < share)
        if kept:
            yield replace(context, questions=kept)


def asked_elsewhere(contexts: Iterator[Context], share: float, seed: int) -> Iterator[tuple[Question, str]]:
    """Yield every question with its context, and a share of the answerable ones also with an unanswering context.

    The unanswering context is the previous one with most of the question's words and none of its answers, like a wrong
    passage that a retriever finds.
    """
    chance = random.Random(seed)
    before: deque[tuple[str, frozenset[str]]] = deque(maxlen=_NEAR)
    for context in contexts:
        for question in context.questions:
            yield question, context.text
            if question.answers and before and chance.random() < share:
                text = _unanswering(question, before)
                if text is not None:
                    yield replace(question, answers=(), spans=()), text
        before.append((context.text, _words(context.text)))


def _unanswering(question: Question, before: Collection[tuple[str, frozenset[str]]]) -> str | None:
    weights = {word: idf(word) for word in _words(question.text)}
    likely = sorted(before, key=lambda pair: -sum(weights[word] for word in weights.keys() & pair[1]))
    answers = [answer.casefold() for answer in question.answers]
    return next((text for text, _ in likely if not any(answer in text.casefold() for answer in answers)), None)


def _words(text: str) -> frozenset[str]:
    analysis = analyzer("en")
    return frozenset(analysis.words(text)) - analysis.long_stopwords


def _part(name: str, file: Path, part: str) -> Iterator[Context]:
    """Yield the contexts of a set in one part of the split."""
    article, last = -1, ""
    for number, context in enumerate(read_squad(file)):
        if context.title != last or number == 0:
            article, last = article + 1, context.title
        if _belongs(name, article, number) == part:
            yield context


def _belongs(name: str, article: int, number: int) -> str:
    if name == SQUAD2:
        return REPORT if article % 2 else VALIDATE if article == 14 else TRAIN
    index, period = (article, 12) if name == NEW_WIKI else (number, 20)
    return {period - 1: REPORT, period // 2 - 1: VALIDATE}.get(index % period, TRAIN)


def _own(file: Path, validates: bool) -> Iterator[Context]:
    for number, context in enumerate(read_contexts(file)):
        if (number % _VALIDATED == _VALIDATED // 2) == validates:
            yield context


def _questions(file: Path) -> int:
    return max(1, sum(len(context.questions) for context in read_contexts(file)))


def _distinctive(text: str) -> set[str]:
    """Return the normalized sentences that are long enough to be distinctive."""
    normalized = (" ".join(words(text[start:end])) for start, end in sentences(text, "en"))
    return {sentence for sentence in normalized if sentence.count(" ") + 1 >= _DISTINCTIVE}


def _existing(root: Path | None, name: str) -> Path:
    path = Path(name).expanduser()
    if root is not None or not path.is_absolute():
        path = named_folder(root) / name
    if not path.is_file():
        raise InputError(f"{path}: no such file; the mix in the settings needs it. See docs/reference/training.md.")
    return path
