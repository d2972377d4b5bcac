"""Questions with their contexts to train a reader on, and the written split of those at hand.

``squad2`` (half of SQuAD 2's dev part): articles 0, 2, 4 ... train, but the last of these validates; articles 1, 3, 5
... are reported on. ``new-wiki`` and ``reddit`` (SQuADShifts): one context in twenty validates and one is reported on
(of ``new-wiki`` whole articles, one in twelve). What trains shares no sentence of eight words with what validates or
is reported on. Files of one's own, in SQuAD's or MRQA's format, train whole; without a set that validates, one context
in fifty of them does. They are read one context at a time, and of MRQA's what is wrong is left out with a warning.
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
from convqa.tasks.mrqa.jsonl import Lenient
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
"""Files that the data folder must hold for the sets that a mix names."""

TRAIN, VALIDATE, REPORT = "train", "validate", "report"

_TELLING = 8
"""Words of a sentence that two texts share by chance so rarely that one is enough."""

_NEAR = 300
"""Earlier contexts of a file among which one is looked for that does not answer a question."""

_VALIDATED = 50


@dataclass(frozen=True, slots=True)
class Split:
    """``training``: set -> its contexts, read anew at each call. ``validation`` and ``reported``: set -> contexts."""

    training: Mapping[str, Callable[[], Iterator[Context]]]
    validation: Mapping[str, list[Context]]
    reported: Mapping[str, list[Context]]


def split(settings: ReaderSettings, root: Path | None) -> Split:
    """The sets that the settings name, from the data folder."""
    named = sorted(settings.sets() - {OWN})
    files = {name: _there(root, FILES[name]) for name in named}
    own = [_there(root, name) for name in settings.own]
    lenient = Lenient()
    held = {part: {name: list(_part(name, files[name], part)) for name in named} for part in (VALIDATE, REPORT)}
    if not named:
        held[VALIDATE] = {OWN: [context for file in own for context in _own(file, lenient, validates=True)]}
        if not any(context.questions for context in held[VALIDATE][OWN]):
            raise InputError(
                f"own: the {len(own)} files have fewer than {_VALIDATED} contexts; wanted more, as one in {_VALIDATED} "
                "validates."
            )
    telling = {
        said for sets in held.values() for some in sets.values() for context in some for said in _telling(context.text)
    }

    def known(name: str) -> Iterator[Context]:
        return (one for one in _part(name, files[name], TRAIN) if telling.isdisjoint(_telling(one.text)))

    def owned() -> Iterator[Context]:
        for file in own:
            some = read_contexts(file, lenient) if named else _own(file, lenient, validates=False)
            share = settings.each / _questions(file, lenient) if settings.each else 1.0
            yield from drawn((one for one in some if telling.isdisjoint(_telling(one.text))), share, settings.seed)

    training: dict[str, Callable[[], Iterator[Context]]] = {name: partial(known, name) for name in named}
    if own:
        training[OWN] = owned
    return Split(training, held[VALIDATE], held[REPORT])


def drawn(contexts: Iterator[Context], share: float, seed: int) -> Iterator[Context]:
    """A share of the questions, drawn by chance, with their contexts; from a share of 1 on all of them."""
    chance = random.Random(seed)
    for context in contexts:
        kept = tuple(question for question in context.questions if chance.random() < share)
        if kept:
            yield replace(context, questions=kept)


def asked_elsewhere(contexts: Iterator[Context], share: float, seed: int) -> Iterator[tuple[Question, str]]:
    """Every question with its context's text, and a share of those with an answer with one that does not answer it.

    That is the one of the contexts before that has most of the question's words and none of its answers: what a
    retriever finds beside the right passage.
    """
    chance = random.Random(seed)
    before: deque[tuple[str, frozenset[str]]] = deque(maxlen=_NEAR)
    for context in contexts:
        for question in context.questions:
            yield question, context.text
            if question.answers and before and chance.random() < share:
                found = _unanswering(question, before)
                if found is not None:
                    yield replace(question, answers=(), spans=()), found
        before.append((context.text, _tokens(context.text)))


def _unanswering(question: Question, before: Collection[tuple[str, frozenset[str]]]) -> str | None:
    wanted = {token: idf(token) for token in _tokens(question.text)}
    likely = sorted(before, key=lambda one: -sum(wanted[token] for token in wanted.keys() & one[1]))
    answers = [answer.casefold() for answer in question.answers]
    return next((text for text, _ in likely if not any(answer in text.casefold() for answer in answers)), None)


def _tokens(text: str) -> frozenset[str]:
    analysis = analyzer("en")
    return frozenset(word for word in analysis.words(text) if word not in analysis.long_stopwords)


def _part(name: str, file: Path, part: str) -> Iterator[Context]:
    """The contexts of a set that belong to a part of the written split."""
    article, last = -1, ""
    for number, context in enumerate(read_squad(file)):
        if context.title != last or number == 0:
            article, last = article + 1, context.title
        if _belongs(name, article, number) == part:
            yield context


def _belongs(name: str, article: int, number: int) -> str:
    if name == SQUAD2:
        return REPORT if article % 2 else VALIDATE if article == 14 else TRAIN
    place, of = (article, 12) if name == NEW_WIKI else (number, 20)
    return {of - 1: REPORT, of // 2 - 1: VALIDATE}.get(place % of, TRAIN)


def _own(file: Path, lenient: Lenient, validates: bool) -> Iterator[Context]:
    for number, context in enumerate(read_contexts(file, lenient)):
        if (number % _VALIDATED == _VALIDATED // 2) == validates:
            yield context


def _questions(file: Path, lenient: Lenient) -> int:
    return max(1, sum(len(context.questions) for context in read_contexts(file, lenient)))


def _telling(text: str) -> set[str]:
    said = (" ".join(words(text[start:end])) for start, end in sentences(text, "en"))
    return {one for one in said if one.count(" ") + 1 >= _TELLING}


def _there(root: Path | None, name: str) -> Path:
    path = Path(name).expanduser()
    if root is not None or not path.is_absolute():
        path = named_folder(root) / name
    if not path.is_file():
        raise InputError(f"{path}: no such file; the mix of the settings needs it. docs/training.md says what it is.")
    return path
