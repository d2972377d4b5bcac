"""SQuAD-format JSON: SQuAD 1 and 2, SQuADShifts, XQuAD, JSQuAD, PoQuAD."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from convqa.errors import InputError
from convqa.files import read_json
from convqa.tasks.mrqa.contexts import Context, Question
from convqa.validation import Record, read_as, shorten

WANTED = "SQuAD-format JSON: {data: [{title, paragraphs: [{context, qas: [{id, question, answers}]}]}]}"


class _Answer(Record):
    text: str
    answer_start: int = Field(ge=0)


class _Question(Record):
    id: str | int | None = None  # PoQuAD has none
    question: str
    answers: list[_Answer] = []
    is_impossible: bool = False


class _Paragraph(Record):
    context: str
    qas: list[_Question]


class _Article(Record):
    title: str = ""
    paragraphs: list[_Paragraph]


def read_squad(path: Path) -> Iterator[Context]:
    """The paragraphs of a file, in order; a question that cannot be answered has no answers.

    A question without an id is called ``ARTICLE-PARAGRAPH-QUESTION``, each counted from 0.

    :raises InputError: naming file and record of the first mistake: also where an answer does not stand where the file
        says, or an id names two questions.
    """
    data = read_json(path, WANTED)
    articles = data.get("data") if isinstance(data, dict) else None
    if not isinstance(articles, list):
        raise InputError(f"{path}: wanted {WANTED}.")
    seen: set[str] = set()
    for number, found in enumerate(articles):
        article = read_as(_Article, found, f"{path}: data[{number}]", f"Wanted: {WANTED}.")
        for place, paragraph in enumerate(article.paragraphs):
            questions = []
            for index, asked in enumerate(paragraph.qas):
                where = f"{path}: data[{number}].paragraphs[{place}].qas[{index}]"
                question = _question(asked, paragraph.context, f"{number}-{place}-{index}", where)
                if question.id in seen:
                    raise InputError(f"{where}: id: {question.id!r} names an earlier question too.")
                seen.add(question.id)
                questions.append(question)
            yield Context(paragraph.context, tuple(questions), article.title)


def _question(asked: _Question, context: str, name: str, where: str) -> Question:
    answers = [] if asked.is_impossible else asked.answers
    spans = []
    for index, answer in enumerate(answers):
        start, end = answer.answer_start, answer.answer_start + len(answer.text)
        if context[start:end] != answer.text:
            raise InputError(
                f"{where}.answers[{index}]: answer_start: the context has {shorten(context[start:end])} there; wanted "
                f"the answer {shorten(answer.text)}."
            )
        spans.append((start, end))
    id = name if asked.id is None else str(asked.id)
    return Question(id, asked.question, tuple(answer.text for answer in answers), tuple(spans))
