"""Contexts of reading comprehension with their questions: read from MRQA's and SQuAD's files, and as conversations.

MRQA's format: https://github.com/mrqa/MRQA-Shared-Task-2019#mrqa-format. SQuAD's is also that of SQuADShifts, XQuAD,
JSQuAD and PoQuAD.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from convqa.domain import DEFAULT_LANGUAGE, Conversation, Passage, Turn, TurnId
from convqa.errors import InputError
from convqa.tasks.files import read_document, read_values
from convqa.validation import Record, read_as

MRQA = "MRQA's JSON lines: {context, qas: [{qid, question, answers, detected_answers: [{text, char_spans}]}]}"
SQUAD = "SQuAD-format JSON: {data: [{title, paragraphs: [{context, qas: [{id, question, answers}]}]}]}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question about its context.

    ``answers``: all accepted answers; empty if the question is unanswerable (SQuAD 2). ``spans``: half-open code point
    offsets of answers in the context; an answer may have several, or none in MRQA.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """A text with questions. ``title``: the title of its article, "" if unknown."""

    text: str
    questions: tuple[Question, ...]
    title: str = ""


def conversations(context: Context, language: str = DEFAULT_LANGUAGE) -> Iterator[Conversation]:
    """Yield each question as a conversation of one turn with the context as its passage, without the answers.

    The questions share one passage, whose id is that of the first question, since contexts have none.

    >>> [talk] = conversations(Context("Goethe wrote Faust.", (Question("q1", "Who wrote Faust?", ("Goethe",)),)))
    >>> talk.id, talk.turns[0].question, talk.turns[0].passages[0].text
    ('q1', 'Who wrote Faust?', 'Goethe wrote Faust.')
    """
    if not context.questions:
        return
    passage = Passage(context.questions[0].id, context.text, context.title)
    for question in context.questions:
        turn = Turn(
            TurnId(question.id, 1),
            question.text,
            passages=(passage,),
            language=language,
        )
        yield Conversation(question.id, (turn,))


class _MrqaDetected(Record):
    text: str
    char_spans: list[Annotated[list[int], Field(min_length=2, max_length=2)]]


class _MrqaQuestion(Record):
    qid: str = Field(min_length=1)
    question: str
    answers: list[str] = []  # may be missing in input
    detected_answers: list[_MrqaDetected] = []


class _MrqaLine(Record):
    context: str
    qas: list[_MrqaQuestion]


def read_jsonl(path: Path) -> Iterator[Context]:
    """Yield the contexts of a file in MRQA's format: JSON lines, plain or gzip.

    The file's inclusive spans become half-open, without repetitions. Those outside the context are left out, since
    predictions and scores do not depend on spans.
    """
    empty = True
    for position, value in read_values(path, MRQA, array=False):
        if position == "line 1" and isinstance(value, dict) and "header" in value:
            continue
        empty = False
        line = read_as(_MrqaLine, value, f"{path}: {position}", f"Expected: {MRQA}.")
        yield Context(line.context, tuple(_mrqa_question(question, line.context) for question in line.qas))
    if empty:
        raise InputError(f"{path}: has no contexts; expected {MRQA}.")


def _mrqa_question(question: _MrqaQuestion, context: str) -> Question:
    spans: dict[tuple[int, int], None] = {}
    for answer in question.detected_answers:
        for first, last in answer.char_spans:
            if 0 <= first <= last < len(context):
                spans[first, last + 1] = None
    return Question(question.qid, question.question, tuple(question.answers), tuple(spans))


class _SquadAnswer(Record):
    text: str
    answer_start: int


class _SquadQuestion(Record):
    id: str | int | None = None  # missing in PoQuAD
    question: str
    answers: list[_SquadAnswer] = []
    is_impossible: bool = False


class _SquadParagraph(Record):
    context: str
    qas: list[_SquadQuestion]


class _SquadArticle(Record):
    title: str = ""
    paragraphs: list[_SquadParagraph]


class _SquadFile(Record):
    data: list[_SquadArticle]


def read_squad(path: Path) -> list[Context]:
    """Return the paragraphs of a file in SQuAD's format, in order; unanswerable questions have no answers.

    A question without an id is called ``ARTICLE-PARAGRAPH-QUESTION``, each counted from 0. An answer that is not at its
    offset has no span, since predictions and scores do not depend on spans.
    """
    file = read_as(_SquadFile, read_document(path, SQUAD), str(path), f"Expected: {SQUAD}.")
    contexts = []
    for article_no, article in enumerate(file.data):
        for paragraph_no, paragraph in enumerate(article.paragraphs):
            questions = [
                _squad_question(question, paragraph.context, f"{article_no}-{paragraph_no}-{index}")
                for index, question in enumerate(paragraph.qas)
            ]
            contexts.append(Context(paragraph.context, tuple(questions), article.title))
    return contexts


def _squad_question(
    record: _SquadQuestion,
    context: str,
    default_id: str,
) -> Question:
    answers = [] if record.is_impossible else record.answers
    spans = tuple(
        (answer.answer_start, answer.answer_start + len(answer.text))
        for answer in answers
        if answer.answer_start >= 0 and context.startswith(answer.text, answer.answer_start)
    )
    id = default_id if record.id is None else str(record.id)
    return Question(id, record.question, tuple(answer.text for answer in answers), spans)
