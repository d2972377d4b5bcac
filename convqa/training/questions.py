"""Questions with contexts to train a reader on, from files in SQuAD's or MRQA's format."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

from convqa.errors import InputError
from convqa.tasks.mrqa.formats import Context, Question
from convqa.tasks.mrqa.input import read_contexts
from convqa.text.analysis import analyzer
from convqa.text.idf import idf
from convqa.training.config import ReaderSettings
from convqa.training.examples import REPORT, VALIDATION, files, training_files

_NEAR = 300
"""Previous contexts to search for one that does not answer a question."""

_VALIDATED = 50
"""One context in so many validates if there is no validation file."""


def gather(
    settings: ReaderSettings, folder: Path
) -> tuple[Iterator[Iterator[Context]], dict[str, list[Context]], dict[str, list[Context]]]:
    """Return the contexts of each training file, and label -> contexts to validate and to report on.

    Without a validation file, one context in fifty of each training file validates. Training files are read one context
    at a time.
    """
    paths = [folder / name for name in settings.train] or training_files(folder)
    validation, reported = (
        {label: list(read_contexts(path)) for label, path in files(folder, part).items()}
        for part in (VALIDATION, REPORT)
    )
    divided = not validation
    if divided:
        validation = {VALIDATION: [context for path in paths for context in _share(path, validates=True)]}
        if not any(context.questions for context in validation[VALIDATION]):
            raise InputError(
                f"{folder}: expected at least {_VALIDATED} contexts, because one in {_VALIDATED} is for validation. "
                "Add contexts, or validation.json."
            )

    def training(path: Path) -> Iterator[Context]:
        share = settings.each / _questions(path) if settings.each else 1.0
        return sampled(
            _share(path, validates=False) if divided else read_contexts(path),
            share,
            settings.seed,
        )

    return map(training, paths), validation, reported


def sampled(
    contexts: Iterator[Context],
    share: float,
    seed: int,
) -> Iterator[Context]:
    """Yield the contexts with a random share of their questions, all from a share of 1 on."""
    chance = Random(seed)
    for context in contexts:
        kept = tuple(question for question in context.questions if chance.random() < share)
        if kept:
            yield replace(context, questions=kept)


def asked_elsewhere(
    contexts: Iterator[Context],
    share: float,
    seed: int,
) -> Iterator[tuple[Question, str]]:
    """Yield every question with its context, and a share of the answerable ones also with an unanswering context.

    The unanswering context is the previous one with most of the question's words and none of its answers, like a wrong
    passage that a retriever finds.
    """
    chance = Random(seed)
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
    asked = _words(question.text)

    def common_weight(context: tuple[str, frozenset[str]]) -> float:
        # fsum, because the order of a set, and so a sum's last digit, differ from process to process.
        return math.fsum(idf(word) for word in asked & context[1])

    answers = [answer.casefold() for answer in question.answers]
    for text, _ in sorted(before, key=common_weight, reverse=True):
        folded = text.casefold()
        if not any(answer in folded for answer in answers):
            return text
    return None


def _words(text: str) -> frozenset[str]:
    analysis = analyzer("en")
    return frozenset(analysis.words(text)) - analysis.long_stopwords


def _share(path: Path, validates: bool) -> Iterator[Context]:
    """Yield one context in fifty, or the others."""
    for number, context in enumerate(read_contexts(path)):
        if (number % _VALIDATED == _VALIDATED // 2) == validates:
            yield context


def _questions(path: Path) -> int:
    return max(1, sum(len(context.questions) for context in read_contexts(path)))
