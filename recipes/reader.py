"""Questions with contexts to train a reader on, and their fixed split.

    python -m recipes.reader DATA EXAMPLES

``squad2`` (half of SQuAD 2's dev part): articles 0, 2, 4 ... are for training, except the last, which is for
validation; articles 1, 3, 5 ... are for reporting. ``new-wiki`` and ``reddit`` (SQuADShifts): one context in twenty is
for validation and one for reporting (``new-wiki``: one whole article in twelve). Training contexts share no sentence of
eight words with the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from convqa.tasks.mrqa.formats import Context, Question, read_squad
from convqa.text.sentences import sentences
from convqa.text.words import words
from recipes.files import GUARD, Files, main, need_files

SQUAD2, NEW_WIKI, REDDIT = "squad2", "new-wiki", "reddit"

FILES = {
    SQUAD2: "squad-format/squad2-dev-half.json",
    NEW_WIKI: "squad-format/squadshifts/new_wiki_v1.0.json",
    REDDIT: "squad-format/squadshifts/reddit_v1.0.json",
}
"""Set -> required file of the data folder."""

TIMES = {SQUAD2: 4, NEW_WIKI: 2, REDDIT: 1}
"""Set -> how often an epoch has it."""

TRAIN, VALIDATE, REPORT = "train", "validate", "report"

_DISTINCTIVE = 8
"""Minimum words of a sentence that two texts rarely share by chance."""


@dataclass(frozen=True, slots=True)
class Split:
    """Set -> contexts, in order."""

    training: Mapping[str, list[Context]]
    validation: Mapping[str, list[Context]]
    reported: Mapping[str, list[Context]]


def split(root: Path) -> Split:
    """Split the sets.

    :param root: the data folder, with :data:`FILES`.
    """
    need_files(root, FILES.values())
    validation, reported, training = (
        {name: list(_part(name, root / FILES[name], part)) for name in sorted(FILES)}
        for part in (VALIDATE, REPORT, TRAIN)
    )
    held_out = [context for sets in (validation, reported) for contexts in sets.values() for context in contexts]
    taken = set().union(*(_distinctive(context.text) for context in held_out))
    kept = {
        name: [context for context in contexts if taken.isdisjoint(_distinctive(context.text))]
        for name, contexts in training.items()
    }
    return Split(kept, validation, reported)


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


def _distinctive(text: str) -> set[str]:
    """Return the normalized sentences that are long enough to be distinctive."""
    normalized = (" ".join(words(text[start:end])) for start, end in sentences(text, "en"))
    return {sentence for sentence in normalized if sentence.count(" ") + 1 >= _DISTINCTIVE}


def squad(contexts: Sequence[Context]) -> dict[str, Any]:
    """Return contexts in SQuAD's format."""
    return {
        "data": [
            {
                "title": title,
                "paragraphs": [
                    {"context": context.text, "qas": [_question(question) for question in context.questions]}
                    for context in article
                ],
            }
            for title, article in groupby(contexts, key=lambda context: context.title)
        ]
    }


def _question(question: Question) -> dict[str, Any]:
    answers = [
        {"text": answer, "answer_start": start}
        for answer, (start, _) in zip(question.answers, question.spans, strict=True)
    ]
    return {"id": question.id, "question": question.text, "answers": answers, "is_impossible": not answers}


_SOURCES = f"""
- SQuAD 2 (Rajpurkar et al. 2018; CC BY-SA 4.0), every other article of half of the dev part
- SQuADShifts, New Wikipedia (Miller et al. 2020; CC BY 4.0), most articles
- SQuADShifts, Reddit (Miller et al. 2020; CC BY 4.0), most posts
{GUARD}
"""


def make(data: Path) -> Files:
    """Return the files of the examples. A set that an epoch has four times has four files."""
    parts = split(data)
    names = [name for name, times in TIMES.items() for _ in range(times)]
    files = {f"train-{number}-{name}.json": parts.training[name] for number, name in enumerate(names, 1)}
    files |= {f"validation-{name}.json": contexts for name, contexts in parts.validation.items()}
    files |= {f"report-{name}.json": contexts for name, contexts in parts.reported.items()}
    return {name: [squad(contexts)] for name, contexts in files.items()}


if __name__ == "__main__":
    main(__doc__, lambda arguments: (make(arguments.data), _SOURCES))
