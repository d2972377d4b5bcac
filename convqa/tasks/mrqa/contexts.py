"""What extractive reading is about: contexts with their questions. Two file formats give them, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """A question about its context.

    ``answers`` are all accepted ones (none: it cannot be answered, SQuAD 2). ``spans`` are where answers stand in the
    context: half-open code points; the same answer may stand at several places, or (MRQA) at none.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """A text that questions are asked about. ``title``: of the article it comes from, "" where the file has none."""

    text: str
    questions: tuple[Question, ...]
    title: str = ""
